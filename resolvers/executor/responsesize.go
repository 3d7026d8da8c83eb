package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
)

// The size of a response is limited before it is encoded. Every field with a resolver,
// that is the root fields and a few fields of a lead, is measured as soon as its value is
// known, including all aliases below it.

// minResponse is the response size, in bytes, that is always allowed.
const minResponse = 8 << 20

// budget limits the size of an operation's response.
type budget struct {
	contentSize func() int
	used        atomic.Int64 // bytes measured so far
	built       atomic.Int64 // bytes that resolvers have copied so far
}

// limit returns the maximum size of a response. All content must fit into one response.
func (b *budget) limit() int { return max(minResponse, b.contentSize()) }

// budgetKey is the key of the budget in an operation's statistics.
const budgetKey = "responseBudget"

// budgetOf returns the budget of an operation that an [Executor] runs.
func budgetOf(op *graphql.OperationContext) *budget {
	return op.Stats.GetExtension(budgetKey).(*budget)
}

// responseBound limits the responses of all operations.
type responseBound struct {
	contentSize func() int
	charge      func(ctx context.Context, size, objects int) *schema.Error // nil: no charge
}

// operation adds a budget to an operation.
func (b responseBound) operation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	graphql.GetOperationContext(ctx).Stats.SetExtension(budgetKey, &budget{contentSize: b.contentSize})
	return next(ctx)
}

// field rejects the value of a field with a resolver if it makes the response too large,
// and charges its size. Introspection has no resolvers: the checks of documents limit its
// size.
func (b responseBound) field(ctx context.Context, next graphql.Resolver) (any, error) {
	value, err := next(ctx)
	field := graphql.GetFieldContext(ctx)
	if err != nil || !field.IsResolver {
		return nullable(field, value), err
	}

	op := graphql.GetOperationContext(ctx)
	allowed := budgetOf(op)
	limit := allowed.limit()
	m := measure{op, limit}
	size := m.size(m.shapeOf(field.Field, reflect.TypeOf(value)), reflect.ValueOf(value))
	if allowed.used.Add(int64(size)) > int64(limit) {
		return nil, tooLarge(limit)
	}

	if b.charge != nil {
		objects := 0
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
			objects = list.Len()
		}
		if refused := b.charge(ctx, size, objects); refused != nil {
			return nil, refused
		}
	}
	return value, nil
}

func tooLarge(limit int) error {
	return schema.BadRequest(fmt.Sprintf("The response would have more than %d bytes. "+
		"Please request fewer fields, or use several requests.", limit))
}

// Build allows a resolver to copy a part of its value. It fails if the resolvers of the
// operation would together copy more than a response may have.
func Build(ctx context.Context, size int) error {
	b := budgetOf(graphql.GetOperationContext(ctx))
	if limit := b.limit(); b.built.Add(int64(size)) > int64(limit) {
		return tooLarge(limit)
	}
	return nil
}

// nullable returns null for an empty text of a nullable field: a Go string cannot be
// null.
func nullable(field *graphql.FieldContext, value any) any {
	if text, ok := value.(string); ok && text == "" && !field.Field.Definition.Type.NonNull {
		return nil
	}
	return value
}

// Fitting returns how many edges of a page fit into the response, at least the first. The
// page is the value of the current field. text returns what an edge adds to a text field
// of the page, such as its CSV.
func Fitting(ctx context.Context, edges any, text func(edge int) string) int {
	op, field := graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field
	allowed, list := budgetOf(op), reflect.ValueOf(edges)
	remaining := allowed.limit() - int(allowed.used.Load())
	m := measure{op, remaining}

	var shapes []shape // one for each alias
	for _, f := range graphql.CollectFields(op, field.Selections, []string{field.Definition.Type.Name()}) {
		if f.Name == "edges" {
			shapes = append(shapes, m.shapeOf(f, list.Type()))
		}
	}

	size := 1 << 10 // the rest of the page
	for i := range list.Len() {
		for _, s := range shapes {
			size += m.size(s, list.Index(i)) + len(",")
		}
		size += textSize(text(i))
		if size > remaining && i > 0 {
			return i
		}
	}
	return list.Len()
}

// measure measures the encoded size of values. It stops soon after the limit is exceeded.
type measure struct {
	op    *graphql.OperationContext
	limit int
}

// shape has the fields that an operation selects from a type. It is nil for a scalar.
type shape []shapeField

// shapeField is a field of a selection with its index in the Go struct.
type shapeField struct {
	keySize int
	index   int // -1: not in the struct
	below   shape
}

// shapeOf returns the shape of a field whose values have the Go type t.
func (m measure) shapeOf(field graphql.CollectedField, t reflect.Type) (s shape) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}

	places := map[string]int{}
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		places[tag] = i
	}
	for _, f := range graphql.CollectFields(m.op, field.Selections, []string{field.Definition.Type.Name()}) {
		selected := shapeField{keySize: len(f.Alias) + len(`"":,`), index: -1}
		if place, ok := places[f.Name]; ok {
			selected.index, selected.below = place, m.shapeOf(f, t.Field(place).Type)
		}
		s = append(s, selected)
	}
	return s
}

// scalarSize is the maximum size of a number, a time, a boolean or an enum value.
const scalarSize = 40

// size returns the encoded size of a value, or any number above the limit.
func (m measure) size(s shape, v reflect.Value) int {
	if !v.IsValid() {
		return len("null")
	}

	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		return v.Len()
	case reflect.TypeFor[[]byte](): // written as base64
		return v.Len()/3*4 + 6
	}

	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return m.size(s, v.Elem())
	case reflect.String:
		return textSize(v.String())
	case reflect.Slice:
		size := len("[]")
		for i := 0; i < v.Len() && size <= m.limit; i++ {
			size += m.size(s, v.Index(i)) + 1
		}
		return size
	case reflect.Struct:
		return m.objectSize(s, v)
	default:
		return scalarSize
	}
}

// objectSize returns the encoded size of an object, or of a scalar that is a struct in Go.
func (m measure) objectSize(s shape, v reflect.Value) int {
	if s == nil {
		return scalarSize
	}

	size := len("{}")
	for _, f := range s {
		size += f.keySize
		if f.index < 0 {
			size += scalarSize
		} else {
			size += m.size(f.below, v.Field(f.index))
		}
	}
	return size
}

// textSize returns the encoded size of a text with its quotes and escapes.
func textSize(s string) int {
	size := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			size += len(`\u0000`) - 1
		case c == '"' || c == '\\':
			size++
		}
	}
	return size
}
