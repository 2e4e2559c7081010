// Graphs: nodes are operations in an order that respects what each needs; an
// instance keeps copies of them and a launch executes the copies one by one.
#include "double.h"
#include <stdlib.h>
#include <string.h>

op *copy_op(const op *o) {
    op *n = new_op(o->kind, o->ctx);
    *n = *o;
    n->next = NULL;
    n->after = NULL;
    n->nafter = 0;
    n->needs = NULL;
    n->nneeds = 0;
    n->owned = NULL;
    n->node = NULL;
    if (o->kind == OP_LAUNCH) {
        n->owned = malloc(o->launch.nparams + 1);
        if (!n->owned)
            abort();
        n->launch.params = memcpy(n->owned, o->launch.params, o->launch.nparams);
    }
    return n;
}

void add_node(graph *g, op *o) {
    if (g->n == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 16;
        g->nodes = realloc(g->nodes, (size_t)g->cap * sizeof *g->nodes);
        if (!g->nodes)
            abort();
    }
    o->node = new_handle(K_NODE, o);
    g->nodes[g->n++] = o;
}

void drop_graph(graph *g) {
    for (int i = 0; i < g->n; i++) {
        drop_handle(g->nodes[i]->node);
        free_op(g->nodes[i]);
    }
    drop_handle(g->handle);
    free(g->nodes);
    free(g);
}

void unref_ops(graph_ops *g) {
    if (--g->references)
        return;
    for (int i = 0; i < g->n; i++)
        free_op(g->ops[i]);
    free(g->ops);
    free(g);
}

static graph_ops *copy_graph(const graph *g) {
    graph_ops *ops = calloc(1, sizeof *ops);
    if (!ops || !(ops->ops = calloc((size_t)g->n + 1, sizeof *ops->ops)))
        abort();
    ops->references = 1;
    for (int i = 0; i < g->n; i++)
        ops->ops[ops->n++] = copy_op(g->nodes[i]);
    return ops;
}

API CUresult cuGraphCreate(CUgraph *out, unsigned flags) {
    ENTER();
    if (!out || flags)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    graph *g = calloc(1, sizeof *g);
    if (!g)
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    *out = g->handle = new_handle(K_GRAPH, g);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuGraphDestroy(CUgraph h) {
    ENTER();
    graph *g = object_of(h, K_GRAPH);
    if (!g)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    drop_graph(g);
    LEAVE(CUDA_SUCCESS);
}

static CUresult add(CUgraphNode *out, graph *g, const CUgraphNode *needs, size_t n, op *o) {
    CUresult r = !out || !g || n > 1u << 20 || (n && !needs) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r && n)
        o->needs = calloc(n, sizeof *o->needs);
    for (size_t i = 0; i < n && !r; i++) {
        op *d = object_of(needs[i], K_NODE);
        bool here = false;
        for (int j = 0; j < g->n; j++)
            here |= g->nodes[j] == d;
        if (here)
            o->needs[o->nneeds++] = d;
        else
            r = CUDA_ERROR_INVALID_VALUE;
    }
    if (r) {
        free_op(o);
        return r;
    }
    add_node(g, o);
    *out = o->node;
    return CUDA_SUCCESS;
}

// node_launch fills o from the parameters of a kernel node.
static CUresult node_launch(context *c, const CUDA_KERNEL_NODE_PARAMS *p, op *o) {
    function *f = p ? object_of(p->func, K_FUNCTION) : NULL;
    if (!f)
        return p ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    launch l = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ}, .block = {p->blockDimX, p->blockDimY, p->blockDimZ}, .shared = p->sharedMemBytes, .fn = f};
    CUresult r = check_launch(c, f, l.grid, l.block, l.shared, false);
    if (!r)
        r = pack_params(f, p->kernelParams, p->extra, &l.params, &l.nparams);
    if (r)
        return r;
    free(o->owned);
    o->owned = l.params;
    o->launch = l;
    return CUDA_SUCCESS;
}

API CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph h, const CUgraphNode *needs, size_t n, const CUDA_KERNEL_NODE_PARAMS *p) {
    ENTER_CTX(c);
    op *o = new_op(OP_LAUNCH, c);
    CUresult r = node_launch(c, p, o);
    if (r) {
        free_op(o);
        LEAVE(r);
    }
    LEAVE(add(out, object_of(h, K_GRAPH), needs, n, o));
}

API CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph h, const CUgraphNode *needs, size_t n) {
    ENTER();
    LEAVE(add(out, object_of(h, K_GRAPH), needs, n, new_op(OP_EMPTY, current())));
}

API CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph h, const CUgraphNode *needs, size_t n, const CUDA_HOST_NODE_PARAMS *p) {
    ENTER_CTX(c);
    if (!p || !p->fn)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    op *o = new_op(OP_HOST, c);
    o->host.fn = p->fn;
    o->host.data = p->userData;
    LEAVE(add(out, object_of(h, K_GRAPH), needs, n, o));
}

API CUresult cuGraphGetNodes(CUgraph h, CUgraphNode *out, size_t *n) {
    ENTER();
    graph *g = object_of(h, K_GRAPH);
    if (!g || !n)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    size_t room = out ? *n : 0;
    *n = (size_t)g->n;
    for (size_t i = 0; i < room; i++)
        out[i] = i < (size_t)g->n ? g->nodes[i]->node : NULL;
    if (out && room < *n)
        *n = room;
    LEAVE(CUDA_SUCCESS);
}

// The type of a node by the API's numbers: kernel, memcpy, memset, host, graph, empty.
API CUresult cuGraphNodeGetType(CUgraphNode h, int *type) {
    ENTER();
    op *o = object_of(h, K_NODE);
    if (!o || !type)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    switch (o->kind) {
    case OP_LAUNCH: *type = 0; break;
    case OP_COPY: *type = 1; break;
    case OP_FILL: *type = 2; break;
    case OP_HOST: *type = 3; break;
    case OP_GRAPH: *type = 4; break;
    default: *type = 5; break;
    }
    LEAVE(CUDA_SUCCESS);
}

static CUresult instantiate(CUgraphExec *out, graph *g) {
    context *c = current();
    if (!out || !g)
        return CUDA_ERROR_INVALID_VALUE;
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    exec *x = calloc(1, sizeof *x);
    if (!x)
        return CUDA_ERROR_OUT_OF_MEMORY;
    x->ctx = c;
    x->ops = copy_graph(g);
    x->names = calloc((size_t)g->n + 1, sizeof *x->names);
    if (!x->names)
        abort();
    for (int i = 0; i < g->n; i++)
        x->names[i] = g->nodes[i]->node;
    *out = x->handle = new_handle(K_EXEC, x);
    return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph h, unsigned long long flags) {
    ENTER();
    LEAVE(flags & ~15ull ? CUDA_ERROR_INVALID_VALUE : instantiate(out, object_of(h, K_GRAPH)));
}

// In the older call the place of the flags is a node's, for errors.
API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph h, CUgraphNode *error, char *log, size_t size) {
    ENTER();
    if (error)
        *error = NULL;
    if (log && size)
        *log = 0;
    LEAVE(instantiate(out, object_of(h, K_GRAPH)));
}

API CUresult cuGraphExecDestroy(CUgraphExec h) {
    ENTER();
    exec *x = object_of(h, K_EXEC);
    if (!x)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    drop_handle(h);
    unref_ops(x->ops);
    free(x->names);
    free(x);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuGraphLaunch(CUgraphExec h, CUstream sh) {
    ENTER_CTX(c);
    CUresult err;
    exec *x = object_of(h, K_EXEC);
    if (!x)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    stream *s = stream_of(sh, c, &err);
    if (!s)
        LEAVE(err);
    if (x->ctx != c || s->cap)
        LEAVE(s->cap ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CONTEXT);
    op *o = new_op(OP_GRAPH, c);
    o->graph.ops = x->ops;
    x->ops->references++;
    LEAVE(enqueue(s, o));
}

API CUresult cuGraphUpload(CUgraphExec h, CUstream sh) {
    ENTER_CTX(c);
    CUresult err;
    if (!object_of(h, K_EXEC))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    LEAVE(stream_of(sh, c, &err) ? CUDA_SUCCESS : err);
}

// private gives an instance operations of its own before they change: launches
// that are queued keep the old ones.
static void make_private(exec *x) {
    if (x->ops->references == 1)
        return;
    graph g = {.nodes = x->ops->ops, .n = x->ops->n};
    graph_ops *own = copy_graph(&g);
    unref_ops(x->ops);
    x->ops = own;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec h, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p) {
    ENTER_CTX(c);
    exec *x = object_of(h, K_EXEC);
    if (!x)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < x->ops->n; i++) {
        if (x->names[i] != node)
            continue;
        if (x->ops->ops[i]->kind != OP_LAUNCH)
            LEAVE(CUDA_ERROR_INVALID_VALUE);
        make_private(x);
        LEAVE(node_launch(c, p, x->ops->ops[i]));
    }
    LEAVE(CUDA_ERROR_INVALID_VALUE);
}

// cuGraphExecUpdate takes over the parameters of a graph with the same nodes.
// The result is a status (0: done, 2: other nodes) and two nodes.
API CUresult cuGraphExecUpdate_v2(CUgraphExec h, CUgraph gh, void *result) {
    ENTER();
    exec *x = object_of(h, K_EXEC);
    graph *g = object_of(gh, K_GRAPH);
    struct { int status; CUgraphNode from, to; } *out = result;
    if (!x || !g)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    bool same = x->ops->n == g->n;
    for (int i = 0; i < g->n && same; i++)
        same = x->ops->ops[i]->kind == g->nodes[i]->kind;
    if (out) {
        out->status = same ? 0 : 2;
        out->from = out->to = NULL;
    }
    if (!same)
        LEAVE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    unref_ops(x->ops);
    x->ops = copy_graph(g);
    LEAVE(CUDA_SUCCESS);
}
