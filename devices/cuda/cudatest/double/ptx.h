// Reading PTX: the state that the files ptx_*.c and decode_*.c share.
#ifndef TANDEM_CUDA_PTX_H
#define TANDEM_CUDA_PTX_H

#include "floatop.h"
#include "interp.h"

typedef enum { K_END, K_WORD, K_INT, K_F32, K_F64, K_TEXT, K_PUNCT } token_kind;

typedef struct {
    token_kind kind;
    const char *p; // of a word or text
    int n;
    uint64_t bits; // of a number
    int line;
} token;

typedef enum { Y_REG, Y_LOCAL, Y_SHARED, Y_PARAM, Y_PARCEL } symbol_kind;

// A symbol of a function: a register or count of them, or a variable.
typedef struct {
    symbol_kind kind;
    const char *p;
    int n;
    type t;
    int scope;
    bool range;      // name<count>
    uint32_t *at;    // of registers, 0: not used yet
    uint32_t count;
    uint32_t offset; // of a variable; of a parameter that is a parcel, the frame's
    uint32_t size;
} symbol;

typedef struct {
    const char *p;
    int n;
    uint32_t pc;
    bool defined;
    int line;
    int scope;
} label;

typedef struct {
    uint32_t insn; // whose target it is, or entry of tables
    bool table;
    int label;
} patch;

typedef struct { // of a .branchtargets
    const char *p;
    int n;
    int first, count;
} targets;

typedef enum { O_NONE, O_REG, O_INT, O_F32, O_F64, O_SYMBOL, O_VARIABLE, O_ADDRESS, O_VECTOR, O_SINK, O_CLOCK } operand_kind;

typedef struct operand {
    operand_kind kind;
    type t;
    uint32_t at;       // register
    uint32_t at2;      // in p|q
    bool negated;
    uint64_t bits;     // number; offset of an address
    symbol *sym;       // of O_SYMBOL, or base of an address
    variable *var;     // likewise
    uint32_t v[8];     // vector; 0: thrown away
    type vt;
    int n;
} operand;

typedef struct {
    const char *text, *p, *end;
    int line;
    token t;
    module *m;
    jmp_buf *out;
    char *said;
    size_t room;
    // Of the function that is read.
    fn_code *f;
    symbol *syms;
    int nsyms, symroom, scope;
    label *labels;
    int nlabels, labelroom;
    patch *patches;
    int npatches, patchroom;
    targets *tgts;
    int ntgts;
    uint32_t tableroom;
} parser;

// An instruction that is decoded.
#define MAX_PARTS 20
#define MAX_OPERANDS 12
typedef struct {
    parser *x;
    char text[128]; // the mnemonic
    char *part[MAX_PARTS];
    bool used[MAX_PARTS];
    int nparts;
    type types[6];
    int ntypes;
    operand o[MAX_OPERANDS];
    int n;
    insn in;
} inst;

// ptx_lex.c
void fail(parser *x, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void next(parser *x);
bool is(const parser *x, const char *word);
bool is_punct(const parser *x, char c);
bool accept(parser *x, char c);
void expect(parser *x, char c);
bool skip_word(parser *x, const char *word);
uint64_t expect_int(parser *x);
void *grow(parser *x, void *list, int n, int *room, size_t each);
char *keep(parser *x, const char *p, int n);
type type_named(const char *s);
int width_of(type t);

// ptx_body.c
uint32_t new_row(parser *x, int width);
uint32_t constant_at(parser *x, uint64_t bits, int width, int of);
uint32_t special_at(parser *x, int special);
insn *emit(parser *x, const insn *in);
fn_code *function_named(module *m, const char *p, int n);
variable *variable_named(module *m, const char *p, int n);
symbol *symbol_named(parser *x, const char *p, int n);
int label_for(parser *x, const char *p, int n);
void read_body(parser *x, fn_code *f);
operand read_operand(parser *x);
uint32_t register_of(parser *x, symbol *s, uint32_t number);
symbol *new_symbol(parser *x, symbol_kind k, const char *p, int n, type t);

// ptx_flow.c
void read_call(parser *x, const insn *base, const char *mnemonic);
void read_indexed(parser *x, const insn *base);

// decode.c
void decode(parser *x, inst *s);
bool has(inst *s, const char *modifier);
int one_of(inst *s, const char *const *names, const int *values); // 0: none of them
uint32_t source(inst *s, int k, int width);      // operand k as a row of that width
uint32_t target(inst *s, int k, int width);      // operand k as a register of that width
uint32_t predicate(inst *s, int k);              // operand k as a predicate
void want(inst *s, int least, int most);         // operands
void finish(inst *s, lane l);                    // modifiers all used; emits
int rounding_of(inst *s);
void unknown(inst *s) __attribute__((noreturn));
typedef void (*decoder)(inst *s);
decoder decode_integer(const char *op);
decoder decode_floating(const char *op, const inst *s);
decoder decode_memory(const char *op);
decoder decode_other(const char *op);

#endif
