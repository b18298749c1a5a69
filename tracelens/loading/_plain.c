/* One strict pass over the text of trace events: where each begins and ends, and what its wanted members say.

   It reads plain text alone: sound JSON in the shapes that profilers write. At anything else (damage, deep or unusual
   nesting, escapes in keys, numbers that no float holds) it gives the whole text up to the numpy scan. So nothing is
   mended or guessed here, and of plain text both say the same.

   The text is loaded by byte_at and word_at alone, which see to its bounds. Nothing is allocated, nothing recurses, and
   no byte is looked at more than a fixed number of times. */

#define Py_LIMITED_API 0x030B0000 /* one build for all later Pythons; 3.11 is the first with buffers in it */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of text are read as little-endian"
#endif

/* What is called for each value or byte: compilers leave some of it out of line, which costs a tenth of the time. */
#if defined(__GNUC__)
#define HOT static inline __attribute__((always_inline))
#else
#define HOT static inline
#endif

/* Of how this is called and what it writes, as in plain.py: counted up there and here whenever that changes. */
enum { CONTRACT = 2 };

/* In place of a position: the text, or the room for what it says, ends first; it is not plain. */
enum { CUT = -1, ODD = -2 };

/* How many braces are open in an event, and in its args. */
enum { EVENT_DEPTH = 1, ARGS_DEPTH = 2 };

enum { DEEPEST = 64, LONGEST_NUMBER = 200, MOST_DIGITS = 18, MOST_DECIMALS = 8, SLOT_BITS = 10, CODES = 256 };

enum { NO_KIND, TEXT, INTEGER, FLOAT, ARGS };

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} Text;

/* A wanted key in the table of keys.py; its code is 0 in a free slot. */
typedef struct {
    uint64_t word, last_word;
    int32_t length;
    uint8_t code, kind;
} Key;

typedef struct {
    int64_t start, end;
} Span;

/* A wanted member, as in Members of members.py, and its raw value as in raw.py. Small: they are sorted by moving. */
typedef struct {
    int64_t raw;
    int32_t row, value, text_end;
    uint8_t first, code;
    bool sound;
} Member;

typedef struct {
    Text text;
    const Key *keys;
    uint64_t multiplier;
    Span *events;
    int64_t event_room, event_count;
    Member *members;
    int64_t member_room, member_count;
    int64_t with_code[CODES]; /* how many of the members */
    bool repeats;             /* whether an event may have two members of one code */
} Walk;

/* How far an event is read. */
typedef struct {
    uint64_t objects; /* a bit for each level of nesting, the innermost the lowest: whether it is an object */
    int depth, braces;
    bool has_args;
    uint64_t codes; /* a bit for each code (modulo their number) of its members */
    const Key *key; /* of the value that comes next, NULL where it is not wanted */
    Member *open;   /* the last member of kind TEXT that is no string, while its text_end is not known */
} Event;

typedef struct {
    bool negative, has_exponent;
    uint64_t whole, fraction;
    int64_t digits, decimals;
} Number;

/* ---- bytes, and words of eight ---- */

static const uint64_t ONES = UINT64_C(0x0101010101010101);
static const uint64_t FIRST_MIX = UINT64_C(0x9E3779B97F4A7C15);
static const uint64_t LAST_MIX = UINT64_C(0xC2B2AE3D27D4EB4F);
static const uint64_t PLACE_MIX = UINT64_C(0xD1342543DE82EF95);
static const uint64_t SPACES = UINT64_C(1) << ' ' | UINT64_C(1) << '\n' | UINT64_C(1) << '\r' | UINT64_C(1) << '\t';

/* 0 outside the text. */
HOT uint8_t byte_at(const Text *text, int64_t at)
{
    return (uint64_t)at < (uint64_t)text->size ? text->bytes[at] : 0;
}

/* Zeros behind the text. */
HOT uint64_t word_at(const Text *text, int64_t at)
{
    uint64_t word = 0;
    int64_t left = text->size - at;
    if (at >= 0 && left >= 8)
        memcpy(&word, text->bytes + at, 8);
    else if (at >= 0 && left > 0)
        memcpy(&word, text->bytes + at, (size_t)left);
    return word;
}

HOT uint64_t first_bytes(uint64_t word, int64_t count)
{
    return count < 8 ? word & ((UINT64_C(1) << (8 * count)) - 1) : word;
}

/* As words.span_hash, of one span. */
HOT int64_t span_hash(const Text *text, int64_t start, int64_t length)
{
    uint64_t total = (uint64_t)length * FIRST_MIX;
    int64_t at = 0;
    do {
        uint64_t word = first_bytes(word_at(text, start + at), length - at) + (uint64_t)at * PLACE_MIX;
        word = (word ^ word >> 32) * FIRST_MIX;
        total += word ^ word >> 29;
        at += 8;
    } while (at < length);
    total = (total ^ total >> 32) * FIRST_MIX;
    total = (total ^ total >> 29) * LAST_MIX;
    return (int64_t)(total ^ total >> 32);
}

/* ---- tokens: from the place of the first byte to that behind the last ---- */

HOT bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

HOT bool is_hex(uint8_t byte) { return is_digit(byte) || ((byte | 32) >= 'a' && (byte | 32) <= 'f'); }

HOT bool is_space(uint8_t byte) { return byte <= ' ' && SPACES >> byte & 1; }

/* What to give where the byte at a place is not what can be there. */
HOT int64_t unexpected(const Text *text, int64_t at) { return at < text->size ? ODD : CUT; }

HOT int64_t after_space(const Text *text, int64_t at)
{
    while (is_space(byte_at(text, at)))
        at++;
    return at;
}

/* To the first quote, backslash or control character, else to the end of the text. */
HOT int64_t after_plain(const Text *text, int64_t at)
{
    for (;; at += 8) {
        uint64_t word = word_at(text, at);
        uint64_t found = ((word ^ ONES * '"') - ONES) | ((word ^ ONES * '\\') - ONES) | (word - ONES * ' ');
        found &= ~word & ONES * 0x80; /* exact in the first such byte: what is borrowed is of later ones */
        if (found)
            return at + (int64_t)((((found - 1) & ONES) * ONES) >> 56) - 1;
    }
}

/* Surrogates are not plain: a lone one is no text. */
static int64_t escape_end(const Text *text, int64_t at)
{
    uint8_t kind = byte_at(text, at + 1);
    if (kind != 'u')
        return kind && strchr("\"\\/bfnrt", kind) ? at + 2 : unexpected(text, at + 1);
    for (int64_t place = at + 2; place < at + 6; place++)
        if (!is_hex(byte_at(text, place)))
            return unexpected(text, place);
    return (byte_at(text, at + 2) | 32) == 'd' && byte_at(text, at + 3) >= '8' ? ODD : at + 6;
}

/* Whether the string is UTF-8 is left to the caller. */
HOT int64_t string_end(const Text *text, int64_t at)
{
    at = after_plain(text, at + 1);
    while (byte_at(text, at) == '\\') {
        at = escape_end(text, at);
        if (at < 0)
            return at;
        at = after_plain(text, at);
    }
    return byte_at(text, at) == '"' ? at + 1 : unexpected(text, at);
}

static int64_t literal_end(const Text *text, int64_t at)
{
    uint8_t first = byte_at(text, at);
    const char *word = first == 'n' ? "null" : first == 't' ? "true" : "false";
    for (; *word; word++, at++)
        if (byte_at(text, at) != (uint8_t)*word)
            return unexpected(text, at);
    return at;
}

/* At least one digit. The value wraps around. */
HOT int64_t digits_end(const Text *text, int64_t at, uint64_t *value)
{
    int64_t end = at;
    for (; is_digit(byte_at(text, end)); end++)
        *value = *value * 10 + (byte_at(text, end) - '0');
    return end > at ? end : unexpected(text, at);
}

/* Two digits at most: with LONGEST_NUMBER, what a float holds. */
static int64_t exponent_end(const Text *text, int64_t at)
{
    uint64_t value = 0;
    uint8_t sign = byte_at(text, ++at);
    at += sign == '+' || sign == '-';
    int64_t end = digits_end(text, at, &value);
    return end > at + 2 ? ODD : end;
}

HOT int64_t number_end(const Text *text, int64_t at, Number *number)
{
    *number = (Number){.negative = byte_at(text, at) == '-'};
    int64_t begin = at + number->negative;
    int64_t end = digits_end(text, begin, &number->whole);
    number->digits = end - begin;
    if (end > begin + 1 && byte_at(text, begin) == '0')
        return ODD;
    if (byte_at(text, end) == '.') {
        begin = end + 1;
        end = digits_end(text, begin, &number->fraction);
        number->decimals = end - begin;
    }
    number->has_exponent = (byte_at(text, end) | 32) == 'e';
    if (number->has_exponent)
        end = exponent_end(text, end);
    return end > at + LONGEST_NUMBER ? ODD : end;
}

/* As digits.read_integers, of one number. */
HOT bool as_integer(const Number *number, int64_t *value)
{
    *value = (int64_t)(number->negative ? 0 - number->whole : number->whole);
    return number->digits <= MOST_DIGITS && !number->decimals && !number->has_exponent;
}

/* As digits.read_thousandths, of one number. */
HOT bool as_thousandths(const Number *number, int64_t *value)
{
    uint64_t fraction = number->fraction;
    if (number->digits > MOST_DIGITS || number->whole > (UINT64_C(1) << 62) / 1000 - 1 || number->has_exponent ||
        number->decimals > MOST_DECIMALS)
        return false;
    for (int64_t place = number->decimals; place < MOST_DECIMALS; place++)
        fraction *= 10;
    uint64_t found = number->whole * 1000 + fraction / 100000;
    *value = (int64_t)(number->negative ? 0 - found : found);
    return fraction % 100000 == 0;
}

/* ---- events ---- */

/* As keys.codes_of, of the key between these places; NULL where no column wants it. */
HOT const Key *key_of(const Walk *walk, int64_t start, int64_t end, int depth)
{
    int64_t length = end - start;
    uint64_t word = first_bytes(word_at(&walk->text, start), length + 1) ^ (uint64_t)(length * 4 + depth);
    const Key *key = &walk->keys[word * walk->multiplier >> (64 - SLOT_BITS)];
    if (!key->code || key->word != word)
        return NULL;
    bool same = length < 8 || (length == key->length && word_at(&walk->text, end - 8) == key->last_word);
    return same ? key : NULL;
}

/* Notes a member whose value begins at a place and, unless it is an object or array, ends at `end`. */
HOT int64_t note(Walk *walk, Event *event, const Key *key, int64_t at, int64_t end, const Number *number)
{
    if (walk->member_count == walk->member_room)
        return CUT;
    Member *member = &walk->members[walk->member_count++];
    uint8_t first = byte_at(&walk->text, at);
    bool counts = key->kind == INTEGER || key->kind == FLOAT;
    *member = (Member){0, (int32_t)walk->event_count, (int32_t)at, (int32_t)(end - 1), first, key->code, !counts};
    walk->with_code[key->code]++;
    walk->repeats |= event->codes >> key->code % 64 & 1;
    event->codes |= UINT64_C(1) << key->code % 64;
    if (first == '"')
        member->raw = span_hash(&walk->text, at + 1, end - at - 2);
    else if (counts && number->digits)
        member->sound = (key->kind == INTEGER ? as_integer : as_thousandths)(number, &member->raw);
    else if (key->kind == TEXT)
        event->open = member;
    return end;
}

/* What follows the text whose end was open begins at this place. */
HOT void end_text(const Walk *walk, Event *event, int64_t at)
{
    Member *member = event->open;
    if (!member)
        return;
    member->text_end = (int32_t)at;
    member->raw = span_hash(&walk->text, member->value, at - member->value);
    event->open = NULL;
}

/* Enters an object or array: to what is first in it, or behind it if it is empty. */
HOT int64_t enter(const Text *text, Event *event, const Key *key, int64_t at)
{
    bool object = byte_at(text, at) == '{';
    if (object && event->braces == EVENT_DEPTH) {
        if (!key || key->kind != ARGS || event->has_args)
            return ODD;
        event->has_args = true;
    }
    at = after_space(text, at + 1);
    if (byte_at(text, at) == (object ? '}' : ']'))
        return at + 1;
    if (event->depth++ == DEEPEST)
        return ODD;
    event->objects = event->objects << 1 | object;
    event->braces += object;
    return at;
}

/* A key and its colon: to its value. */
HOT int64_t take_key(Walk *walk, Event *event, int64_t at)
{
    const Text *text = &walk->text;
    if (byte_at(text, at) != '"')
        return unexpected(text, at);
    int64_t end = after_plain(text, at + 1);
    if (byte_at(text, end) != '"')
        return unexpected(text, end);
    if (event->braces <= ARGS_DEPTH) {
        end_text(walk, event, at);
        event->key = key_of(walk, at + 1, end, event->braces);
    }
    at = after_space(text, end + 1);
    return byte_at(text, at) == ':' ? after_space(text, at + 1) : unexpected(text, at);
}

/* A value: behind it, or, of an object or array, to what is first in it. */
HOT int64_t take_value(Walk *walk, Event *event, int64_t at)
{
    const Text *text = &walk->text;
    const Key *key = event->key;
    uint8_t first = byte_at(text, at);
    Number number;
    int64_t end;
    event->key = NULL;
    number.digits = 0;
    if (first == '"')
        end = string_end(text, at);
    else if (first == '{' || first == '[')
        end = enter(text, event, key, at);
    else if (first == '-' || is_digit(first))
        end = number_end(text, at, &number);
    else
        end = literal_end(text, at);
    return key && end >= 0 ? note(walk, event, key, at, end, &number) : end;
}

/* In an array: past strings without escapes and whole numbers, each with its comma, as long as they are short. */
HOT int64_t after_items(const Text *text, int64_t at)
{
    for (;;) {
        uint8_t first = byte_at(text, at);
        int64_t end = at;
        if (is_digit(first)) {
            do {
                end++;
            } while (first != '0' && is_digit(byte_at(text, end)));
        } else if (first == '"' && byte_at(text, end = after_plain(text, at + 1)) == '"') {
            end++;
        }
        if (end == at || end > at + LONGEST_NUMBER || byte_at(text, end) != ',')
            return at;
        at = after_space(text, end + 1);
    }
}

/* What follows a value: behind the brackets that it is the last in, and to the next key or value if there is one. */
HOT int64_t leave(const Walk *walk, Event *event, int64_t at)
{
    while (event->depth) {
        bool object = event->objects & 1;
        at = after_space(&walk->text, at);
        uint8_t byte = byte_at(&walk->text, at);
        if (byte == ',')
            return after_space(&walk->text, at + 1);
        if (byte != (object ? '}' : ']'))
            return unexpected(&walk->text, at);
        if (object && event->braces <= ARGS_DEPTH)
            end_text(walk, event, at);
        event->objects >>= 1;
        event->braces -= object;
        event->depth--;
        at++;
    }
    return at;
}

/* An event, whose members are noted. */
static int64_t take_event(Walk *walk, int64_t at)
{
    Event event = {.depth = 0};
    at = enter(&walk->text, &event, NULL, at);
    while (at >= 0 && event.depth) {
        int depth = event.depth;
        at = event.objects & 1 ? take_key(walk, &event, at) : after_items(&walk->text, at);
        if (at >= 0)
            at = take_value(walk, &event, at);
        if (at >= 0 && event.depth == depth)
            at = leave(walk, &event, at);
    }
    return at;
}

/* Takes back the members behind the first so many. */
static void forget(Walk *walk, int64_t kept)
{
    while (walk->member_count > kept)
        walk->with_code[walk->members[--walk->member_count].code]--;
}

/* The whole events at the head of the text: where they stop, or why. */
static int64_t take_events(Walk *walk)
{
    const Text *text = &walk->text;
    int64_t at = 0;
    while (is_space(byte_at(text, at)) || byte_at(text, at) == ',')
        at++; /* what is before the first event is for the caller to judge */
    while (byte_at(text, at) == '{' && walk->event_count < walk->event_room) {
        int64_t members = walk->member_count, end = take_event(walk, at);
        if (end < 0) {
            forget(walk, members);
            return end;
        }
        walk->events[walk->event_count++] = (Span){at, end - 1};
        at = after_space(text, end);
        if (byte_at(text, at) == ',')
            at = after_space(text, at + 1);
        else if (byte_at(text, at) != ']')
            return at < text->size ? ODD : at;
    }
    return at == text->size || byte_at(text, at) == '{' || byte_at(text, at) == ']' ? at : ODD;
}

/* The members by code, those of one code in order; bounds[code] is how many have a lower one. */
static void sort_members(const Walk *walk, Member *sorted, int64_t *bounds)
{
    int64_t next[CODES];
    bounds[0] = 0;
    for (int code = 0; code < CODES; code++) {
        next[code] = bounds[code];
        bounds[code + 1] = bounds[code] + walk->with_code[code];
    }
    for (int64_t i = 0; i < walk->member_count; i++)
        sorted[next[walk->members[i].code]++] = walk->members[i];
}

/* ---- Python: see _plain.pyi ---- */

static PyObject *read_events(PyObject *module, PyObject *args)
{
    Py_buffer data, keys, events, found, members, bounds;
    unsigned long long multiplier;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*Kw*w*w*w*", &data, &keys, &multiplier, &events, &found, &members, &bounds))
        return NULL;
    Walk walk = {
        .text = {data.buf, data.len},
        .keys = keys.buf,
        .multiplier = multiplier,
        .events = events.buf,
        .event_room = events.len / (Py_ssize_t)sizeof(Span),
        .members = found.buf,
        .member_room = found.len / (Py_ssize_t)sizeof(Member),
    };
    bool fit = keys.len == (Py_ssize_t)sizeof(Key) << SLOT_BITS && members.len >= found.len &&
               bounds.len == (Py_ssize_t)sizeof(int64_t) * (CODES + 1);
    int64_t end = ODD;
    if (fit && data.len <= INT32_MAX) {
        Py_BEGIN_ALLOW_THREADS
        end = take_events(&walk);
        sort_members(&walk, members.buf, bounds.buf);
        Py_END_ALLOW_THREADS
    }
    PyObject *clean = byte_at(&walk.text, end) == ']' ? Py_False : Py_True;
    PyBuffer_Release(&data);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&events);
    PyBuffer_Release(&found);
    PyBuffer_Release(&members);
    PyBuffer_Release(&bounds);
    if (!fit)
        return PyErr_Format(PyExc_ValueError, "keys of 2^%d slots, members as found, %d bounds", SLOT_BITS, CODES + 1);
    if (end == ODD)
        return Py_NewRef(Py_None);
    PyObject *repeats = walk.repeats ? Py_True : Py_False;
    return Py_BuildValue("LLOO", (long long)walk.event_count, (long long)walk.member_count, clean, repeats);
}

static PyMethodDef methods[] = {{"read_events", read_events, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static int declare(PyObject *module) { return PyModule_AddIntConstant(module, "contract", CONTRACT); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, declare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_plain",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__plain(void) { return PyModuleDef_Init(&definition); }
