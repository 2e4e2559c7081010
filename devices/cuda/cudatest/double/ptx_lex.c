// Words, numbers and punctuation of PTX.
#include "ptx.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void fail(parser *x, const char *format, ...) {
    va_list args;
    int n = snprintf(x->said, x->room, "ptx line %d: ", x->t.line ? x->t.line : x->line);
    va_start(args, format);
    if (n > 0 && (size_t)n < x->room)
        vsnprintf(x->said + n, x->room - (size_t)n, format, args);
    va_end(args);
    longjmp(*x->out, 1);
}

void *grow(parser *x, void *list, int n, int *room, size_t each) {
    if (n < *room)
        return list;
    int more = *room ? 2 * *room : 32;
    if (more > 1 << 24)
        fail(x, "too much of one thing: more than %d", n);
    void *l = realloc(list, (size_t)more * each);
    if (!l)
        fail(x, "out of memory");
    memset((char *)l + (size_t)*room * each, 0, (size_t)(more - *room) * each);
    *room = more;
    return l;
}

char *keep(parser *x, const char *p, int n) {
    char *s = malloc((size_t)n + 1);
    if (!s)
        fail(x, "out of memory");
    memcpy(s, p, (size_t)n);
    s[n] = 0;
    return s;
}

static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static void blanks(parser *x) {
    while (x->p < x->end) {
        char c = *x->p;
        if (c == '\n')
            x->line++;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            x->p++;
        } else if (c == '/' && x->p + 1 < x->end && x->p[1] == '/') {
            while (x->p < x->end && *x->p != '\n')
                x->p++;
        } else if (c == '/' && x->p + 1 < x->end && x->p[1] == '*') {
            x->p += 2;
            while (x->p + 1 < x->end && !(x->p[0] == '*' && x->p[1] == '/')) {
                if (*x->p == '\n')
                    x->line++;
                x->p++;
            }
            x->p = x->p + 1 < x->end ? x->p + 2 : x->end;
        } else {
            return;
        }
    }
}

static uint64_t digits(parser *x, int base, int most) {
    uint64_t v = 0;
    int n = 0;
    while (x->p < x->end && digit(*x->p) < base && n < most) {
        v = v * (uint64_t)base + (uint64_t)digit(*x->p++);
        n++;
    }
    if (!n)
        fail(x, "a number without digits");
    return v;
}

static void number(parser *x) {
    const char *start = x->p;
    if (*x->p == '0' && x->p + 1 < x->end) {
        char c = x->p[1];
        if (c == 'f' || c == 'F' || c == 'd' || c == 'D') {
            bool single = c == 'f' || c == 'F';
            x->p += 2;
            x->t.bits = digits(x, 16, single ? 8 : 16);
            x->t.kind = single ? K_F32 : K_F64;
            return;
        }
        if (c == 'x' || c == 'X') {
            x->p += 2;
            x->t.bits = digits(x, 16, 16);
            goto suffix;
        }
        if (c == 'b' || c == 'B') {
            x->p += 2;
            x->t.bits = digits(x, 2, 64);
            goto suffix;
        }
    }
    x->t.bits = digits(x, 10, 20);
    if (x->p < x->end && (*x->p == '.' || *x->p == 'e')) {
        char text[64];
        int n = 0;
        for (const char *q = start; q < x->end && n < 63 && (digit(*q) < 10 || *q == '.' || *q == 'e' || *q == '-' || *q == '+'); q++)
            text[n++] = *q;
        text[n] = 0;
        char *end;
        double d = strtod(text, &end);
        x->p = start + (end - text);
        x->t.kind = K_F64;
        memcpy(&x->t.bits, &d, 8);
        return;
    }
    if (*start == '0' && x->p - start > 1) { // octal
        x->p = start;
        x->t.bits = digits(x, 8, 23);
    }
suffix:
    x->t.kind = K_INT;
    if (x->p < x->end && *x->p == 'U')
        x->p++;
}

void next(parser *x) {
    blanks(x);
    x->t = (token){.line = x->line};
    if (x->p >= x->end || !*x->p) {
        x->t.kind = K_END;
        return;
    }
    char c = *x->p;
    if (c >= '0' && c <= '9') {
        number(x);
    } else if (in_word(c)) {
        x->t.kind = K_WORD;
        x->t.p = x->p;
        while (x->p < x->end && in_word(*x->p))
            x->p++;
        // ld.global::cluster and the like are one word.
        while (x->p + 2 < x->end && x->p[0] == ':' && x->p[1] == ':') {
            x->p += 2;
            while (x->p < x->end && in_word(*x->p))
                x->p++;
        }
        x->t.n = (int)(x->p - x->t.p);
    } else if (c == '"') {
        x->t.kind = K_TEXT;
        x->t.p = ++x->p;
        while (x->p < x->end && *x->p != '"' && *x->p != '\n')
            x->p++;
        x->t.n = (int)(x->p - x->t.p);
        if (x->p < x->end)
            x->p++;
    } else {
        x->t.kind = K_PUNCT;
        x->t.p = x->p++;
        x->t.n = 1;
    }
}

bool is(const parser *x, const char *word) {
    return x->t.kind == K_WORD && (int)strlen(word) == x->t.n && !memcmp(word, x->t.p, (size_t)x->t.n);
}

bool is_punct(const parser *x, char c) { return x->t.kind == K_PUNCT && *x->t.p == c; }

bool accept(parser *x, char c) {
    if (!is_punct(x, c))
        return false;
    next(x);
    return true;
}

void expect(parser *x, char c) {
    if (!accept(x, c)) {
        if (x->t.kind == K_WORD || x->t.kind == K_PUNCT)
            fail(x, "%.*s where %c is expected", x->t.n > 60 ? 60 : x->t.n, x->t.p, c);
        fail(x, "%c is expected", c);
    }
}

bool skip_word(parser *x, const char *word) {
    if (!is(x, word))
        return false;
    next(x);
    return true;
}

uint64_t expect_int(parser *x) {
    bool minus = accept(x, '-');
    if (x->t.kind != K_INT)
        fail(x, "a whole number is expected");
    uint64_t v = x->t.bits;
    next(x);
    return minus ? -v : v;
}

type type_named(const char *s) {
    static const struct { const char *name; type t; } names[] = {
        {"b8", T_B8}, {"u8", T_U8}, {"s8", T_S8}, {"b16", T_B16}, {"u16", T_U16}, {"s16", T_S16}, {"f16", T_F16}, {"bf16", T_BF16},
        {"b32", T_B32}, {"u32", T_U32}, {"s32", T_S32}, {"f32", T_F32}, {"f16x2", T_F16X2}, {"bf16x2", T_BF16X2},
        {"b64", T_B64}, {"u64", T_U64}, {"s64", T_S64}, {"f64", T_F64}, {"pred", T_PRED}, {"b128", T_B128}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(s, names[i].name))
            return names[i].t;
    return T_NONE;
}

int width_of(type t) {
    switch (t) {
    case T_PRED: return 0;
    case T_B8: case T_U8: case T_S8: return 1;
    case T_B16: case T_U16: case T_S16: case T_F16: case T_BF16: return 2;
    case T_B64: case T_U64: case T_S64: case T_F64: return 8;
    case T_B128: return 16;
    default: return 4;
    }
}
