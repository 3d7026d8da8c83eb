package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/schema"
)

// The size of a response is limited before it is encoded. Every field with a resolver,
// that is the root fields and a few fields of a lead, is measured as soon as its value is
// known, including all aliases below it.

const (
	minResponse = 8 << 20 // bytes of a response that are always allowed
	maxBuilt    = 4 << 20 // bytes that the resolvers of an operation may copy
)

// What counts as one more request. Encoding a hundred objects, however small, takes as long
// as executing a small query, and so does copying builtUnit.
const (
	responseUnit = 256 << 10 // bytes of a response
	objectsUnit  = 100       // objects in lists
	builtUnit    = 32 << 10  // bytes that a resolver copies
)

// budget limits the work of an operation and the size of its response.
type budget struct {
	*Executor

	used  atomic.Int64 // bytes measured so far
	built atomic.Int64 // bytes that resolvers have copied so far
	parts atomic.Int64 // parts that they have copied so far
	lists atomic.Int64 // fields executed so far that select documents
}

// limit returns the maximum size of a response. All content must fit into one response.
func (b *budget) limit() int { return max(minResponse, b.ContentSize()) }

// budgetKey is the key of the budget in an operation's statistics.
const budgetKey = "responseBudget"

// budgetOf returns the budget of an operation that an [Executor] runs.
func budgetOf(op *graphql.OperationContext) *budget {
	return op.Stats.GetExtension(budgetKey).(*budget)
}

// charge counts work as further requests.
func (e *Executor) charge(ctx context.Context, requests int) error {
	if e.ChargeMore == nil || requests == 0 {
		return nil
	}
	if refused := e.ChargeMore(ctx, requests); refused != nil {
		return refused
	}
	return nil
}

// addBudget adds a budget to an operation.
func (e *Executor) addBudget(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	graphql.GetOperationContext(ctx).Stats.SetExtension(budgetKey, &budget{Executor: e})
	return next(ctx)
}

// bound rejects the value of a field with a resolver if it makes the response too large,
// and charges its size. Each further field of an operation that selects documents is
// charged as well, before it runs. Introspection has no resolvers: the checks of documents
// limit its size.
func (e *Executor) bound(ctx context.Context, next graphql.Resolver) (any, error) {
	field := graphql.GetFieldContext(ctx)
	if !field.IsResolver {
		value, err := next(ctx)
		return nullable(field, value), err
	}

	op := graphql.GetOperationContext(ctx)
	allowed := budgetOf(op)
	if selectsDocuments(field.Field) && allowed.lists.Add(1) > 1 {
		if err := e.charge(ctx, 1); err != nil {
			return nil, err
		}
	}
	value, err := next(ctx)
	if err != nil {
		return nullable(field, value), err
	}

	limit := allowed.limit()
	m := &measure{op: op, limit: limit}
	size := m.size(m.shapeOf(field.Field, reflect.TypeOf(value)), reflect.ValueOf(value))
	if allowed.used.Add(int64(size)) > int64(limit) {
		return nil, tooLarge(limit)
	}

	requests := size / responseUnit
	if _, guarded := tokenKind(field.Field.Definition); !guarded {
		requests += m.objects / objectsUnit
	}
	if err := e.charge(ctx, requests); err != nil {
		return nil, err
	}
	return value, nil
}

// selectsDocuments reports whether a field searches all documents of a type.
func selectsDocuments(field graphql.CollectedField) bool {
	return field.Name == "content" || field.Name == "contentPage"
}

func tooLarge(limit int) error {
	return schema.BadRequest(fmt.Sprintf("The response would have more than %d bytes. "+
		"Please request fewer fields, or use several requests.", limit))
}

// Build allows a resolver to copy a part of its value, and charges it. It fails if the
// resolvers of the operation would together copy more than maxBuilt.
func Build(ctx context.Context, size int) error {
	b := budgetOf(graphql.GetOperationContext(ctx))
	built := int(b.built.Add(int64(size)))
	if built > maxBuilt {
		return tooLarge(maxBuilt)
	}

	// Decoding and encoding a small part takes as long as an object of a list.
	requests := built/builtUnit - (built-size)/builtUnit
	if b.parts.Add(1)%objectsUnit == 0 {
		requests++
	}
	return b.charge(ctx, requests)
}

// nullable returns null for an empty text of a nullable field: a Go string cannot be
// null.
func nullable(field *graphql.FieldContext, value any) any {
	if text, ok := value.(string); ok && text == "" && !field.Field.Definition.Type.NonNull {
		return nil
	}
	return value
}

// Fitting returns how many entries of a list, such as the edges of a page, fit into the
// response, at least the first. The list is a field of the value of the current field.
func Fitting(ctx context.Context, name string, entries any) int {
	op, field := graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field
	allowed, list := budgetOf(op), reflect.ValueOf(entries)
	remaining := allowed.limit() - int(allowed.used.Load())
	m := &measure{op: op, limit: remaining}

	var shapes []shape // one for each alias
	for _, f := range graphql.CollectFields(op, field.Selections, []string{field.Definition.Type.Name()}) {
		if f.Name == name {
			shapes = append(shapes, m.shapeOf(f, list.Type()))
		}
	}

	size := 1 << 10 // the rest of the page
	for i := range list.Len() {
		for _, s := range shapes {
			size += m.size(s, list.Index(i)) + len(",")
		}
		if size > remaining && i > 0 {
			return i
		}
	}
	return list.Len()
}

// measure measures the encoded size of values. It stops soon after the limit is exceeded.
type measure struct {
	op      *graphql.OperationContext
	limit   int
	objects int // objects in lists
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
func (m *measure) shapeOf(field graphql.CollectedField, t reflect.Type) (s shape) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}

	indexes := placesOf(t)
	fields := graphql.CollectFields(m.op, field.Selections, []string{field.Definition.Type.Name()})
	s = make(shape, 0, len(fields))
	for _, f := range fields {
		selected := shapeField{keySize: len(f.Alias) + len(`"":,`), index: -1}
		if index, ok := indexes[f.Name]; ok {
			selected.index, selected.below = index, m.shapeOf(f, t.Field(index).Type)
		}
		s = append(s, selected)
	}
	return s
}

// places has what placesOf returned, by type.
var places sync.Map

// placesOf returns the indexes of a struct's fields by their names in JSON.
func placesOf(t reflect.Type) map[string]int {
	if known, ok := places.Load(t); ok {
		return known.(map[string]int)
	}

	indexes := map[string]int{}
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		indexes[tag] = i
	}
	places.Store(t, indexes)
	return indexes
}

// scalarSize is the maximum size of a number, a time, a boolean or an enum value.
const scalarSize = 40

// size returns the encoded size of a value, or any number above the limit.
func (m *measure) size(s shape, v reflect.Value) int {
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
		if s != nil {
			m.objects += v.Len()
		}
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
func (m *measure) objectSize(s shape, v reflect.Value) int {
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

// textSize returns the encoded size of a string with its quotes and escapes.
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
