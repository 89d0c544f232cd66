"""Number against Python's decimal, over seeded random cases: the two were written by different people."""
import decimal
import pathlib
import random
import re
import subprocess
from decimal import Decimal

DRIVER = pathlib.Path(__file__).parents[2] / "build/release/tests/number_driver"
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+))?")
DIGITS_MAX, EXPONENT_MIN, EXPONENT_MAX = 38, -130, 125
exact = decimal.Context(prec=1000, Emax=10**7, Emin=-(10**7), traps=[])


def run(lines):
    """The driver's answer to each line."""
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([DRIVER], input=text, capture_output=True, text=True, check=True, timeout=120)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def bounded(value, too_many_digits):
    """What DynamoDB makes of an exact value: its canonical text, or the name of the error."""
    if not value:
        return "0"
    if value.adjusted() > EXPONENT_MAX:
        return "error overflow"
    if value.adjusted() < EXPONENT_MIN:
        return "error underflow"
    if len(value.normalize(exact).as_tuple().digits) > DIGITS_MAX:
        return "error " + too_many_digits
    return format(value.normalize(exact), "f")


def parsed(text):
    match = NUMBER.fullmatch(text)
    if not match:
        return "error syntax"
    digits, exponent = exact.create_decimal(match.group(1)), int(match.group(2) or 0)
    # The exponent of a zero counts as well; one that is far out need not be applied to know the answer.
    if (not digits and not EXPONENT_MIN <= exponent <= EXPONENT_MAX) or abs(exponent) > 10**6:
        return "error overflow" if exponent > 0 else "error underflow"
    return bounded(exact.scaleb(digits, exponent), "38")


def compare(lines, expected):
    for line, answer, wanted in zip(lines, run(lines), expected):
        found = answer if answer.startswith("error") else answer.split()[1]
        assert answer.split()[0] in ("ok", "error"), line
        assert found == wanted, line


def random_text(chance):
    """Digits of any count, a point anywhere, an exponent near the limits: mostly numbers, now and then none."""
    alphabet = "0123456789" if chance.random() < 0.7 else "09"
    digits = "".join(chance.choices(alphabet, k=chance.choice([1, 2, 5, 37, 38, 39, 45])))
    if chance.random() < 0.5:
        at = chance.randint(0, len(digits))
        digits = digits[:at] + "." + digits[at:]
    text = chance.choice(["", "", "-", "+"]) + digits
    if chance.random() < 0.7:
        low, high = chance.choice([(-10, 10), (-180, -90), (80, 140), (0, 0), (10**12, 10**13)])
        exponent = chance.randint(low, high)
        text += chance.choice("eE") + chance.choice(["", "+"] if exponent >= 0 else [""]) + str(exponent)
    if chance.random() < 0.05:
        at = chance.randint(0, len(text))
        text = text[:at] + chance.choice("-.eExN") + text[at:]
    return text


def sound_texts(seed, count):
    chance = random.Random(seed)
    texts = []
    while len(texts) < count:
        text = random_text(chance)
        if not parsed(text).startswith("error"):
            texts.append(text)
    most = "9." + "9" * 37 + "e125"
    return ["0", "1e-130", "-1e-130", "1e125", most, "-" + most, "9" * 38, "1e37", "0.1"] + texts


def test_texts_parse_to_one_canonical_form_or_to_the_same_error():
    chance = random.Random(1)
    texts = [random_text(chance) for _ in range(20000)]
    texts += ["1e126", "-1e126", "1e-131", "0e126", "0e-131", "0e125", "-0", "9" * 39]
    texts += ["1" + "0" * 200, "0." + "0" * 200 + "1"]
    compare(["parse " + text for text in texts], [parsed(text) for text in texts])


def test_sums_and_differences_are_exact_or_refused():
    chance = random.Random(2)
    texts = sound_texts(3, 3000)
    lines, expected = [], []
    for _ in range(20000):
        a, b = chance.choice(texts), chance.choice(texts)
        if chance.random() < 0.3:  # close to one another: digits cancel
            b = a[:-1] + chance.choice("0123456789") if a[-1].isdigit() and "e" not in a.lower() else a
            if parsed(b).startswith("error"):
                b = a
        operation = chance.choice(["add", "subtract"])
        left, right = exact.create_decimal(a), exact.create_decimal(b)
        result = exact.add(left, right) if operation == "add" else exact.subtract(left, right)
        lines.append(f"{operation} {a} {b}")
        expected.append(bounded(result, "overflow"))
    compare(lines, expected)


def test_encoded_bytes_order_and_equal_as_the_numbers_do():
    texts = sound_texts(4, 5000)
    encoded = [bytes.fromhex(answer.split()[2]) for answer in run(["parse " + text for text in texts])]
    by_bytes = sorted(zip(encoded, map(Decimal, texts)), key=lambda pair: pair[0])
    for (bytes_a, a), (bytes_b, b) in zip(by_bytes, by_bytes[1:]):
        assert (bytes_a == bytes_b) == (exact.compare(a, b) == 0)
        assert exact.compare(a, b) <= 0, (a, b)
