"""What a question wants, from its words: one table, the first row that fits wins."""

from __future__ import annotations

import re
from typing import Final, get_args

from assistant.chat.contract import Intent

_WHO = r"(?:i|we|you|they|one|operations|ops|somebody|someone|the (?:team|admins?|platform team))"
_PARTS = r"(?:ranks?|workers?|gpus?|cards?|devices?|nodes?|hosts?|machines?|process(?:es)?|pods?|replicas?|tasks?)"

RULES: Final[tuple[tuple[Intent, str], ...]] = (
    ("choose", r"^\W*(?:the )?(?:f\d+|first|second|third|former|latter|[1-9])(?: one)?\W*$"),
    ("compare", r"\b(?:differences? (?:between|to|from|of|with)|differs?|different (?:from|to|than)|distinguish|versus|vs\.?|compared?|tell (?:\w+ ){1,6}apart|tell (?:\w+ ){1,5}from)\b"),
    ("ignore", r"\b(?:ignor\w*|harmless|benign|false (?:alarm|positive)|needs? (?:any )?action|worr(?:y|ied|ying)|just noise)\b|\b(?:does|do) (?:it|this|that|these|those|they) matter\b"),
    ("lines", r"\b(?:show|see|print|quote|display|paste|give)\b.*\b(?:lines?|evidence|excerpt|proof|log)\b|\b(?:which|what) (?:log )?lines?\b|\bwhere (?:in|does|do|is|did)\b.*\b(?:logs?|say|stand|printed?|files?)\b|\bwhat (?:is|are) the evidence\b|\bevidence\b\W*$"),
    ("fixed", r"\b(?:is|was|are|be|been) (?:it|this|that)? ?(?:really )?(?:fixed|repaired|solved|gone|healed|resolved)\b|\b(?:fix|repair|cure)\w* (?:has )?(?:work\w*|holds?|help\w*|succeeded)\b|\bverify (?:the|a|my|our) (?:fix|repair|cure)\b|\bafter the fix\b"),
    ("resume", r"\b(?:resum\w+|checkpoints?|snapshots?|last (?:good )?(?:step|save)|lost (?:work|progress|steps?)|how much (?:work|progress)|continue from|roll ?back|results? (?:so far|valid|wrong|trust\w*))\b"),
    ("collect", r"\b(?:collect|gather|preserve|capture|attach|save before|keep before)\b|\b(?:which|what|other|more|another) (?:else )?(?:logs?|data|files?|information|records?)\b|\bwhat (?:else )?(?:do|should|must|to) (?:i |we |you )?(?:need|save|keep|look at)\b|\bbefore (?:i |we )?(?:reboot|restart)\w*|\bwhere (?:can|do|should|must) (?:i|we) look\b"),
    ("escalate", rf"\b(?:escalat\w*|rma|support (?:ticket|case)|open a (?:ticket|case)|(?:call|contact|tell|notify|ask|page) (?:the )?(?:vendor|platform|support|network|storage|nvidia|amd|aws|google|team|admins?)|who(?:m)? (?:do|should|must|can|shall) {_WHO} (?:call|contact|tell|ask|page|notify)|hand (?:it |this )?over|exchange the|replace the|send (?:it |the card )?back)\b"),
    ("owner", r"\b(?:owns?|owners?|ownership|whose|responsible|which team)\b|\bwho (?:should|must|has to|needs to|can) (?:fix|act|handle|deal|repair|look)\b"),
    ("restart", r"\b(?:restart\w*|retry\w*|retries|re-?run\w*|requeue|resubmit\w*|relaunch\w*|try (?:it |this )?(?:once )?(?:more|again)|start (?:it )?again|run (?:it )?again|submit (?:it )?again|transient|recovers? by itself|start over)\b"),
    ("story", r"^\W*what(?:'s| is| was)? (?:actually |really )?(?:broken?|failing|the (?:fault|failure|error))\W*$"),
    ("hardware", r"\b(?:my|our|the user'?s?|user) (?:own )?(?:code|fault|script|program|config\w*|model|mistake|error)\b|\bis it (?:me|us|mine|ours)\b|\b(?:hardware|broken|faulty|defective|dying|damaged)\b|\bbugs?\b|\bsoftware or\b|\bmine or\b|\bnetwork (?:problem|fault|issue)\b|\bcorrupt\w*"),
    ("rank", rf"\b(?:which|what|whose) (?:{_PARTS})\b|\bwho (?:\w+ )?first\b|\bfailed first\b|\bwhere did it (?:start|begin|happen)\b|\bwhere does it come from\b"),
    ("prevent", r"\b(?:prevent\w*|avoid\w*|next time|in (?:the )?future|happen(?:s|ing)? again|again\?*$|alerts?|monitor\w*|early warning|never again|stop (?:this|it) from|guard against|repeat itself)\b"),
    ("when", r"\b(?:when did|when was|when exactly|what time|at what time|since when|how long ago|how long before|in which order|timeline)\b"),
    ("else", r"\b(?:what else|else could|else can|anything else|looks? (?:like|alike|similar)|look-?alikes?|similar|related|other (?:causes?|possibilit\w+|explanations?|findings?|failures?)|alternativ\w+|(?:causes?|leads? to|consequences?|follows?) from|what does it cause|(?:mistaken|confused) (?:for|with))\b"),
    ("fix", rf"\b(?:what|which) (?:do|should|can|must|shall|could|would) {_WHO} (?:do|change|set|try|use|want)\b"),
    ("confirm", r"\b(?:confirm\w*|verify|verified|prove[sn]?|proof|make sure|be sure|are you sure|how sure|certain|diagnos\w+|check|checks|checklist|validate|how (?:do|can|could|would|should) (?:i|we|you) (?:know|see|tell|find out|test|measure|look)|test (?:for|whether|if))\b"),
    ("fix", rf"\b(?:fix\w*|solve\w*|(?:quick|fast)(?:est)? way|(?:get|be) (?:up and running|going|back)|choices?|repair\w*|mend\w*|cure|resolve|work ?around|remed\w+|mitigat\w*|options?|quickest|get (?:it|the job|this|back)|what now|next steps?|reduces?|lower the risk)\b|\bhow (?:do|can|should|could|must) {_WHO} \w+|\b(?:which|what) (?:environment |env )?(?:settings?|variables?|options?|flags?|values?|parameters?|knobs?)\b|\bwhat to do\b|\bwhat (?:will |would |can )?helps?\b"),
    ("story", r"\b(?:what (?:has )?(?:happened|failed|went wrong|broke)|what is (?:the )?(?:problem|matter|verdict|wrong)|what'?s (?:wrong|the problem|the matter|the verdict)|summar\w+|tl;?dr|in short|first fault)\b"),
    ("what-is", r"^\W*(?:what|who)(?:'s| is| are| was| were)\b|\bwhat do(?:es)? .*\bmean\b|\bmeaning of\b|\bdefine\b|\btell me about\b"),
    ("why", r"\bwhy\b|\b(?:what|who) (?:caused|causes|triggered|killed|stopped|ended|sent)\b|\b(?:root )?cause\b|\breasons?\b|\bhow come\b|\bexplain\b|\bmechanism\b|\bhow (?:does|did|could|can) (?:it|this|that|the)\b|\bunderstand\b|\bbecause\b"),
)  # fmt: skip
"""Intents by priority; `unknown` is what none of them takes."""

_COMPILED: Final = tuple((intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in RULES)
INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)


def intent_of(question: str) -> Intent:
    """What a question wants."""
    text = " ".join(question.split())
    return next((intent for intent, pattern in _COMPILED if pattern.search(text)), "unknown")
