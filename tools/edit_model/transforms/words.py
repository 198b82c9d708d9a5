"""Made-up names, messages and numbers as programmers write them, so that details must be read and not guessed."""

from __future__ import annotations

import keyword
import re
from collections.abc import Set
from random import Random
from typing import Final


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS: Final = _listed(
    """
    account address agent alias amount anchor answer archive area argument array asset attempt attribute axis
    backend backup badge balance bar base batch binding block board body border bounds branch bridge bucket
    budget buffer builder bundle button cache call candidate capacity card cell chain change channel char check
    chunk client clock cluster code collection color column command comment commit component condition config
    connection container content context control cookie copy core cost count counter country coupon course
    credit cursor customer cycle data date day deadline default delay delta depth detail device diff digest
    directory distance document domain draft driver duration edge effect element email endpoint engine entity
    entry env error estimate event exit export factor failure feature feed field figure file filter flag folder
    font form format fraction frame friend gap gateway graph grid group guard guest handle handler hash head
    header height history hook host icon id image index info input instance interval invoice issue item iterator
    job key kind label language layer layout leaf length level library limit line link list loader location lock
    log loop margin marker mask master match matrix member memory menu message metadata method metric mode model
    module moment monitor month mount name namespace network node notice number object offset operation option
    order origin output owner package page pair panel parent part partner password patch path pattern payload
    payment peer percent period person phase phone pixel player plugin point pointer policy pool port position
    prefix price priority process product profile progress project prompt property provider proxy query queue
    quota range rank rate ratio reader reason record region register relation release remainder report request
    resource response result retry role root route row rule run sample scale schedule schema scope score screen
    script season section seed segment selection sender sensor sequence series server service session setting
    shape share sheet shift signal size slice slot snapshot socket source span speed stack stage stamp start
    state station status step stock storage store stream string style subject suffix summary symbol table tag
    target task team template term test text theme thread threshold ticket tile time timeout title token tool
    topic total trace track traffic transaction tree trigger type unit update upload url usage user value
    variant vector vendor version view visitor volume voter weight widget width window word worker wrapper
    writer year zone
    """
)

VERBS: Final = _listed(
    """
    accept acquire add adjust align allocate analyze append apply approve assign attach bind build cache
    calculate call cancel capture change check choose classify clean clear clone close collapse collect combine
    compare compile compose compress compute configure confirm connect consume convert copy count create decode
    define delete deliver derive describe detach detect determine disable dispatch display divide download draw
    drop dump emit enable encode ensure enter estimate evaluate examine execute expand export extend extract
    fetch fill filter find finish fix flatten flush fold follow format gather generate get grant group guess
    handle hide identify import index infer init insert inspect install invoke iterate join keep launch list
    load locate lock log lookup make map mark match measure merge migrate mix modify move normalize notify
    obtain open order pack parse partition patch pick plan poll pop prepare print process produce prune publish
    pull purge push put query raise read rebuild receive record reduce refresh register reject release reload
    remove rename render repair replace report request reset resolve restore resume retrieve retry return
    reverse review rotate route run sample save scan schedule search select send serialize set show shrink
    shuffle skip sort split start step stop store submit subscribe sum swap sync tag take test toggle touch
    trace track transfer transform translate trim truncate unpack unwrap update upload validate verify visit
    wait walk watch wrap write yield zip
    """
)

ADJECTIVES: Final = _listed(
    """
    active actual allowed annual available bad base best big blank bound broken cached central clean closed cold
    common complete composite constant cooked correct critical current custom daily dead deep default deleted
    dirty distinct done double dry dynamic early easy empty enabled even exact existing expected expired
    explicit extended external extra failed fallback false fast final first fixed flat foreign formatted free
    fresh full future general given global good guest hidden high hot idle ignored implicit initial inner
    internal invalid known large last late latest lazy left legal light limited linear live loaded local locked
    long loose low main manual matching maximum merged minimum minor missing mixed mutable narrow nested new
    next normal numeric odd old only open optional ordered original other outer parsed partial passive past
    pending plain possible preferred prepared present previous primary private proper public pure quick random
    rare raw ready real recent regular related relative remaining remote required resolved reverse right safe
    same scaled secondary secret selected shared short signed simple single slow small smooth soft sorted spare
    special stable stale standard static strict strong success sunny temporary tight tiny top trusted unique
    unknown unsafe unused updated upper valid verbose virtual visible warm weak wide wild working wrong
    """
)

SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "arg": ("argument", "param", "value"), "args": ("arguments", "params", "values"),
    "arr": ("array", "items", "values"), "attr": ("attribute", "prop"), "attrs": ("attributes", "properties"),
    "buf": ("buffer", "data", "chunk"), "buffer": ("buf", "storage"), "c": ("char", "ch", "count"),
    "callback": ("handler", "cb", "on_done"), "cb": ("callback", "handler"), "cfg": ("config", "settings"),
    "check": ("verify", "validate"), "child": ("node", "descendant"), "cls": ("klass", "owner"),
    "cmd": ("command", "action"), "code": ("status", "source"), "config": ("settings", "options", "cfg"),
    "count": ("total", "num", "n", "size"), "create": ("make", "build"), "ctx": ("context", "state"),
    "cur": ("current", "cursor"), "d": ("data", "mapping", "delta"),
    "data": ("payload", "content", "buf", "values"), "delete": ("remove", "drop"),
    "dest": ("target", "destination"), "dir": ("directory", "folder"), "dst": ("destination", "target"),
    "e": ("error", "exc", "event", "element"), "el": ("element", "item"), "elem": ("element", "item"),
    "err": ("error", "failure"), "error": ("err", "failure", "problem"), "ev": ("event",),
    "event": ("evt", "signal"), "exc": ("error", "exception"), "f": ("file", "func", "handle"),
    "fd": ("descriptor", "handle"), "file": ("path", "stream", "fileobj"),
    "filename": ("path", "file_name", "fname"), "find": ("search", "lookup", "locate"),
    "flag": ("enabled", "switch"), "fn": ("func", "callback"), "fname": ("filename", "path"),
    "fp": ("stream", "file", "handle"), "func": ("function", "fn", "callback"),
    "get": ("fetch", "load", "read", "lookup"), "h": ("height", "handle"), "handler": ("callback", "listener"),
    "host": ("server", "hostname"), "i": ("index", "idx", "pos", "position"), "id": ("key", "identifier"),
    "idx": ("index", "position", "i"), "index": ("idx", "position", "offset"), "info": ("details", "metadata"),
    "input": ("source", "raw"), "item": ("entry", "element", "record"), "items": ("entries", "elements", "records"),
    "j": ("inner", "col"), "k": ("key", "name"), "key": ("name", "identifier"), "kwargs": ("options", "kwds"),
    "l": ("left", "line", "length"), "len": ("length", "size"), "length": ("size", "count"),
    "line": ("row", "text"), "lines": ("rows", "text_lines"), "list": ("items", "entries"),
    "load": ("read", "fetch"), "m": ("match", "month"), "make": ("create", "build"), "match": ("found", "hit"),
    "max": ("limit", "largest", "upper"), "method": ("operation", "action"), "min": ("smallest", "lower"),
    "mode": ("kind", "style"), "msg": ("message", "text"), "n": ("count", "num", "size", "total"),
    "name": ("label", "title", "key"), "names": ("labels", "keys"), "node": ("element", "vertex"),
    "num": ("number", "count"), "obj": ("object", "instance", "target"), "offset": ("position", "shift"),
    "op": ("operation", "operator"), "options": ("settings", "opts"), "out": ("output", "result"),
    "output": ("result", "out"), "p": ("path", "point", "pointer"), "param": ("parameter", "argument"),
    "params": ("parameters", "arguments"), "parse": ("read", "decode"), "path": ("filename", "location"),
    "pos": ("position", "index", "offset"), "prefix": ("start", "head"), "process": ("handle", "run"),
    "ptr": ("pointer", "cursor"), "q": ("queue", "query"), "r": ("result", "row", "right"),
    "read": ("load", "fetch"), "remove": ("delete", "drop"), "req": ("request", "query"),
    "res": ("result", "response"), "resp": ("response", "reply"), "result": ("output", "answer", "outcome", "res"),
    "ret": ("result", "value"), "retval": ("result", "answer"), "rv": ("result", "value"),
    "run": ("execute", "start"), "s": ("text", "string", "source"), "self": ("this",), "set": ("assign", "store"),
    "size": ("length", "count"), "src": ("source", "origin"), "start": ("begin", "first"),
    "state": ("status", "phase"), "str": ("text", "string"), "string": ("text", "s"),
    "t": ("time", "text", "target"), "temp": ("tmp", "scratch"), "text": ("content", "string", "body"),
    "tmp": ("temp", "scratch"), "type": ("kind", "category"), "url": ("address", "link", "uri"),
    "user": ("account", "person"), "v": ("value", "val", "version"), "val": ("value", "v"),
    "value": ("val", "item", "entry"), "values": ("items", "entries"), "w": ("width", "weight", "word"),
    "write": ("save", "store"), "x": ("value", "item", "left"), "y": ("other", "right", "result"),
}  # fmt: skip

ROUND_NUMBERS: Final = (
    0, 1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 24, 25, 30, 32, 42, 50, 60, 64, 80, 90, 99, 100, 120, 127, 128, 144,
    150, 180, 200, 250, 255, 256, 300, 365, 400, 404, 443, 500, 512, 600, 720, 750, 1000, 1024, 1440, 2000,
    2048, 3000, 3600, 4096, 5000, 8000, 8080, 8192, 9000, 10000, 16384, 32768, 65535, 65536, 86400, 100000,
    1000000,
)  # fmt: skip

FRAGMENTS: Final = (
    "in place", "by default", "on purpose", "for now", "too early", "twice", "once more", "by name", "by key",
    "in order", "at the end", "from the cache", "before use", "after the update", "with care", "per request",
    "on retry", "for this run", "when possible", "without a lock", "in bytes", "in seconds", "as a list",
    "from disk", "on startup",
)  # fmt: skip

_RESERVED: Final = frozenset([*keyword.kwlist, *keyword.softkwlist]) | set(
    _listed(
        """
    self cls this super none null true false undefined abstract boolean byte char const delete do double enum
    export extends final float function go goto implements instanceof int interface let long map native new
    package private protected public range register short signed sizeof static struct switch synchronized throw
    throws transient typeof union unsigned var void volatile box crate dyn extern fn impl loop mod move mut pub
    ref trait type unsafe use where become macro override priv virtual auto inline restrict default case chan
    defer fallthrough func select string error len cap append copy make print str list dict set tuple object id
    input format hash iter next min max sum any all abs bin dir eval exec filter hex oct open ord pow repr round
    slice sorted vars zip bool bytes callable chr compile divmod enumerate exit frozenset getattr globals
    hasattr help isinstance issubclass locals memoryview property quit reversed setattr staticmethod classmethod
    arguments eval event document window name module require exports process console buffer symbol date error
    number record
    """
    )
)


def split_words(name: str) -> list[str]:
    """The lower-case words of a name in any case style."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def join_words(words: list[str], style: str) -> str:
    """The words as one name; ``style`` is snake, camel, pascal or upper."""
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "pascal":
        return "".join(word.capitalize() for word in words)
    joined = "_".join(words)
    return joined.upper() if style == "upper" else joined


def style_of(name: str, default: str = "snake") -> str:
    """The case style a name is written in; ``default`` where it could be several."""
    bare = name.strip("_")
    if bare.isupper() and len(bare) > 1:
        return "upper"
    if "_" in bare:
        return "snake"
    if bare[:1].isupper():
        return "pascal"
    return "camel" if any(char.isupper() for char in bare) else default


def word(random: Random) -> str:
    """A lower-case word."""
    return random.choice(random.choice((NOUNS, NOUNS, VERBS, ADJECTIVES)))


def phrase(random: Random, least: int, most: int) -> str:
    """``least`` to ``most`` lower-case words with blanks between, as in a label or a short comment."""
    count = random.randint(least, most)
    words: list[str] = []
    while len(words) < count:
        left = count - len(words)
        roll = random.random()
        if left >= 3 and roll < 0.3:
            words += [random.choice(VERBS), "the", random.choice(NOUNS)]
        elif left >= 2 and roll < 0.6:
            words += [random.choice(ADJECTIVES), random.choice(NOUNS)]
        elif left >= 2 and roll < 0.75:
            words += random.choice(FRAGMENTS).split()[:left]
        else:
            words.append(random.choice(NOUNS))
    return " ".join(words)


def message(random: Random) -> str:
    """What an error or a log line might say; without quotes, backslashes, braces and per cent signs."""
    noun, other, verb, adjective = (random.choice(w) for w in (NOUNS, NOUNS, VERBS, ADJECTIVES))
    number_text = str(number(random, 10))
    text = random.choice((
        f"{noun} must not be {adjective}", f"invalid {noun}", f"missing {noun} {other}", f"{noun} is required",
        f"cannot {verb} {adjective} {noun}", f"could not {verb} {noun}", f"failed to {verb} the {noun}",
        f"no {noun} for this {other}", f"{noun} not found", f"unexpected {noun}", f"unknown {noun} {other}",
        f"expected a {adjective} {noun}", f"{noun} has no {other}", f"too many {noun}s", f"{noun} is {adjective}",
        f"bad {noun}: {adjective} {other}", f"{noun} {other} exceeds {number_text}", f"{adjective} {noun} {other}",
        f"{verb} the {noun}", f"unable to {verb} {noun} {other}", f"{noun} already has a {adjective} {other}",
        f"this {noun} does not {verb}", f"not a {adjective} {noun}", f"{noun} was {adjective}, using {other}",
        f"{noun} needs at least {number_text} {other}s", f"{phrase(random, 2, 6)}", f"empty {noun}",
    ))  # fmt: skip
    roll = random.random()
    if roll < 0.45:
        text = text[0].upper() + text[1:]
    if roll < 0.15:
        text += "."
    elif roll > 0.95:
        text += "!"
    return text


def number(random: Random, near: int | float) -> int | float:
    """Another number than ``near``, of its kind and often of its size."""
    for _ in range(20):
        made = _number(random, near)
        if made != near:
            return made
    return near + 1


def _number(random: Random, near: int | float) -> int | float:
    roll = random.random()
    if isinstance(near, float):
        if roll < 0.3:
            return round(near * random.choice((0.1, 0.5, 2, 1.5, 10, 0.25, 3)), 4)
        return round(
            random.choice((random.random(), random.uniform(0, 10), random.uniform(1, 100))), random.randint(1, 3)
        )
    if roll < 0.2:
        return near + random.choice((-1, 1, 2, 3, 10)) if near else random.randint(1, 9)
    if roll < 0.35 and near:
        return near * random.choice((2, 3, 4, 5, 10))
    if roll < 0.55:
        return random.choice(ROUND_NUMBERS)
    size = max(2, len(str(abs(near))) + random.choice((-1, 0, 0, 0, 1)))
    return random.randint(0, 10 ** min(size, 6) - 1)


def fresh(random: Random, taken: Set[str], style: str = "snake", least: int = 1, most: int = 2) -> str:
    """A name of ``least`` to ``most`` words that is not in ``taken`` and no language's keyword."""
    while True:
        count = random.randint(least, most)
        words = [random.choice(NOUNS)]
        if count > 1:
            words.insert(0, random.choice(random.choice((ADJECTIVES, NOUNS, VERBS))))
        if count > 2:
            words.append(random.choice(NOUNS))
        made = join_words(words, style)
        if made not in taken and made.lower() not in _RESERVED:
            return made


def new_name(old: str, random: Random, taken: set[str], style: str = "snake") -> str:
    """A name to call ``old`` by from now on: a related one or a quite different one.

    It keeps leading underscores, is none of ``taken`` and no language's keyword. ``style`` is snake, camel, pascal or
    upper.
    """
    bare = old.lstrip("_")
    lead = old[: len(old) - len(bare)]
    words = split_words(bare) or ["value"]
    for _ in range(30):
        parts = _related(list(words), random) if random.random() < 0.55 else _unrelated(words, random)
        if not parts[0][:1].isalpha() or len(parts) > 5:
            continue
        made = lead + join_words(parts, style)
        if made != old and made not in taken and made.lower() not in _RESERVED and len(made) < 40:
            return made
    return lead + fresh(random, taken | {name[len(lead) :] for name in taken}, style, 2, 3)


def _unrelated(words: list[str], random: Random) -> list[str]:
    verb = words[0] in VERBS and len(words) > 1
    parts = [random.choice(NOUNS)]
    if random.random() < 0.6:
        parts.insert(0, random.choice(VERBS if verb else random.choice((ADJECTIVES, NOUNS))))
    elif verb:
        parts.insert(0, random.choice(VERBS))
    return parts


def _related(words: list[str], random: Random) -> list[str]:
    roll = random.random()
    known = [index for index, part in enumerate(words) if part in SYNONYMS]
    if roll < 0.4 and known:
        index = random.choice(known)
        words[index : index + 1] = random.choice(SYNONYMS[words[index]]).split("_")
    elif roll < 0.55:
        words.insert(0, random.choice(ADJECTIVES))
    elif roll < 0.68:
        words.append(random.choice(NOUNS))
    elif roll < 0.76 and len(words) > 1:
        del words[random.randrange(len(words))]
    elif roll < 0.84:
        index = random.randrange(len(words))
        words[index] = random.choice(NOUNS)
    elif roll < 0.90 and len(words[-1]) > 3:
        words[-1] = words[-1][:-1] if words[-1].endswith("s") else words[-1] + "s"
    elif roll < 0.95 and len(words[-1]) > 5:
        words[-1] = words[-1][: random.randint(3, 4)]
    else:
        words.insert(0, random.choice(VERBS))
    return words
