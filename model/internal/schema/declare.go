package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Declaration is the result of reading a struct type: the schema, and the codecs of its fields.
type Declaration struct {
	Schema   Schema
	types    Types
	GoType   reflect.Type
	GoFields []GoField // the fields of Schema that are not computed
	computes []computation
	ID       GoField
	Refs     []RefField
	Kinds    map[string]string // "set" or "list", by the name of the collection
	// WithoutType is set by Untyped.
	WithoutType bool
	Validate    func(record any) error // calls the method of the type on a pointer; nil: no method
}

// GoField is a field of the struct with its codec.
type GoField struct {
	codec
	path    []int
	GoName  string
	Stored  string
	counter bool
	rule    rule
	typed   *typedField // for a record without its Go type
}

// computation is a computed field, with the function that computes its value.
type computation struct {
	codec
	name    string
	compute func(record any) any
	result  reflect.Type
}

// RefField is a field that refers to other records.
type RefField struct {
	Field  int
	Target reflect.Type
	Rule   OnDelete // "": none
	Exists bool     // the record must exist
}

// Of returns the field in a struct, or in an embedded struct.
func (f *GoField) Of(record reflect.Value) reflect.Value {
	if len(f.path) == 1 {
		return record.Field(f.path[0])
	}
	return record.FieldByIndex(f.path)
}

// IndexDeclaration is an index that a model declares by its method Indexes.
type IndexDeclaration struct {
	Name    string
	Columns []string
	Unique  bool
	Fold    bool
	Compute func(record any) any // takes a pointer to the record, and returns a pointer to the value; nil: a composite
	Result  reflect.Type
}

// Declare reads the declaration of a struct type.
func Declare(t reflect.Type, y Types, indexes []IndexDeclaration) (*Declaration, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	d := &Declaration{Schema: Schema{Version: -1, Expires: -1, Created: -1, Updated: -1, TypeName: t.Name()}, types: y, GoType: t, Kinds: map[string]string{}}
	type validates interface{ Validate() error }
	if reflect.PointerTo(t).Implements(reflect.TypeFor[validates]()) {
		d.Validate = func(record any) error { return record.(validates).Validate() }
	}
	if err := d.addFields(t, nil); err != nil {
		return nil, err
	}
	if d.ID.path == nil {
		return nil, fmt.Errorf("%s has no id: give a field of type string or an integer the tag `redis:\",id\"`", t)
	}
	for i := range indexes {
		if err := d.addIndex(&indexes[i]); err != nil {
			return nil, fmt.Errorf("%s.Indexes: index %q: %w", t, indexes[i].Name, err)
		}
	}
	return d, nil
}

// addFields adds the fields of a struct, and of the structs embedded in it.
func (d *Declaration) addFields(t reflect.Type, path []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		text, tagged := f.Tag.Lookup("redis")
		at := append(slices.Clone(path), i)
		var err error
		switch {
		case text == "-":
			continue
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct && !d.types.writesItself(f.Type):
			err = d.addFields(f.Type, at)
		case !f.IsExported() && tagged:
			err = errors.New("it has a tag but is not exported")
		case f.IsExported():
			err = d.addField(f, text, at)
		case f.Anonymous && f.Type.Kind() == reflect.Pointer:
			err = checkWithin(f.Type, nil)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
	}
	return nil
}

// writesItself reports whether an embedded struct is a single field, because it marshals
// itself.
func (y Types) writesItself(t reflect.Type) bool {
	c, err := y.marshalerCodec(t)
	return err != nil || c.Kind != "" || writesJSON(t)
}

// checkWithin returns an error if fields within a type that is stored as JSON have options,
// since these would have no effect. The type of another model, which has an id, may have
// options.
func checkWithin(t reflect.Type, seen []reflect.Type) error {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(seen, t) {
		return nil
	}
	var found error
	for i := range t.NumField() {
		f := t.Field(i)
		_, options, has := strings.Cut(f.Tag.Get("redis"), ",")
		if has && slices.Contains(strings.Split(options, ","), "id") {
			return nil
		}
		if has && options != "" && found == nil {
			found = fmt.Errorf("%s.%s has options, and is stored as a part of this field, as JSON: embed %s by value, or leave the options out", t.Name(), f.Name, t.Name())
		}
		if err := checkWithin(f.Type, append(seen, t)); err != nil && found == nil {
			found = err
		}
	}
	return found
}

// addField adds a field, with its indexes and rules.
func (d *Declaration) addField(f reflect.StructField, text string, path []int) error {
	tag, err := parseTag(text, f.Name)
	if err != nil {
		return err
	}
	if kind := d.types.Collection(f.Type); kind != "" {
		return d.addCollection(tag, kind)
	}
	codec, err := d.types.codecOf(f.Type, tag.has("unix"))
	if err != nil {
		return err
	}
	if codec.Kind == KindJSON {
		if err := checkWithin(f.Type, nil); err != nil {
			return err
		}
	}
	g := GoField{codec: codec, path: path, GoName: f.Name, Stored: tag.name, counter: tag.has("counter")}
	if g.rule, err = ruleOf(tag, f.Type); err != nil {
		return err
	}
	if tag.has("id") {
		return d.addID(g, f.Type)
	}
	if d.Schema.Number(tag.name) >= 0 || slices.Contains(d.Schema.Collections, tag.name) {
		return fmt.Errorf("another field is called %q too: give one of them another name in its tag", tag.name)
	}
	number := len(d.Schema.Fields)
	switch {
	case tag.has("version") && d.Schema.Version >= 0, tag.has("expires") && d.Schema.Expires >= 0,
		tag.has("created") && d.Schema.Created >= 0, tag.has("updated") && d.Schema.Updated >= 0:
		return errors.New("another field has this option too")
	case tag.has("version") && (codec.Kind != kindInt || f.Type.Kind() != reflect.Int64 && f.Type.Kind() != reflect.Int):
		return errors.New("a version is an int64")
	case tag.has("expires") && codec.Kind != kindTime && codec.Kind != kindUnix:
		return errors.New("expires is for a time.Time")
	case (tag.has("created") || tag.has("updated")) && (f.Type != reflect.TypeFor[time.Time]()):
		return errors.New("created and updated are for a time.Time")
	case tag.has("counter") && codec.Kind != kindInt:
		return errors.New("a counter is a signed integer")
	case tag.has("version"):
		d.Schema.Version = number
	case tag.has("expires"):
		d.Schema.Expires = number
	case tag.has("created"):
		d.Schema.Created = number
	case tag.has("updated"):
		d.Schema.Updated = number
	}
	if err := d.addTTL(tag); err != nil {
		return err
	}
	d.GoFields = append(d.GoFields, g)
	d.Schema.Fields = append(d.Schema.Fields, Field{Name: tag.name, Kind: codec.Kind, Element: codec.element, Zero: codec.zero(f.Type)})
	d.Schema.Names, d.Schema.Counters = append(d.Schema.Names, tag.name), append(d.Schema.Counters, g.counter)
	return d.addFieldIndexes(number, tag, f.Type)
}

// addTTL reads the option ttl.
func (d *Declaration) addTTL(tag tag) (err error) {
	if !tag.has("ttl") {
		return nil
	}
	text := tag.values["ttl"]
	d.Schema.TTL, err = time.ParseDuration(text)
	switch {
	case !tag.has("expires"):
		return errors.New("ttl sets when a record expires: add it to the field with the option expires")
	case err != nil || d.Schema.TTL < time.Millisecond:
		return fmt.Errorf("ttl=%s is not a duration such as 1h30m, of at least a millisecond", text)
	}
	return nil
}

// addFieldIndexes adds the indexes in the tag of a field.
func (d *Declaration) addFieldIndexes(number int, tag tag, t reflect.Type) error {
	f := d.Schema.Fields[number]
	for _, o := range []string{"index", "range", "unique"} {
		if !tag.has(o) {
			continue
		}
		x := Index{Name: f.Name, Columns: []Column{{Field: f.Name}}, Unique: o == "unique", PerValue: o == "index", CaseInsensitive: tag.has("caseinsensitive")}
		if o == "range" && tag.has("unique") {
			x.Name = f.Name + ".range" // in addition to the unique index
		}
		if err := d.Schema.addSpec(x); err != nil {
			return err
		}
	}
	codec := d.GoFields[number].codec
	if tag.has("range") && !d.types.hasOrder(t, &codec) {
		return fmt.Errorf("range: %s marshals itself, and the order of its text need not be that of its values: leave range out, or declare a model.Computed of a number, time or text", t)
	}
	rule := OnDelete("")
	for _, r := range []OnDelete{Restrict, Cascade, Clear} {
		if tag.has(string(r)) {
			rule = r
		}
	}
	switch {
	case rule != "" && codec.Target == nil:
		return fmt.Errorf("%s is for a model.Ref, not %s", rule, t)
	case rule != "" && !tag.has("index") && !tag.has("range"):
		return fmt.Errorf("%s needs to find the records that refer: add index", rule)
	case rule == Clear && tag.has("required"):
		return fmt.Errorf("clear and required: a record whose reference is cleared would not be valid")
	case rule != "" && tag.has("caseinsensitive"):
		return fmt.Errorf("%s and caseinsensitive: ids that differ by case are different records: leave caseinsensitive out", rule)
	case tag.has(optionExists) && codec.Target == nil:
		return fmt.Errorf("%s is for a model.Ref, not %s", optionExists, t)
	case codec.Target != nil:
		if tag.has(optionExists) {
			d.Schema.Exists = append(d.Schema.Exists, number)
		}
		if rule != "" {
			d.Schema.References = append(d.Schema.References, Reference{f.Name, codec.Target.Name(), rule})
		}
		d.Refs = append(d.Refs, RefField{Field: number, Target: codec.Target, Rule: rule, Exists: tag.has(optionExists)})
	}
	return nil
}

// addIndex adds an index declared by the method Indexes.
func (d *Declaration) addIndex(decl *IndexDeclaration) error {
	x := Index{Name: decl.Name, Unique: decl.Unique, CaseInsensitive: decl.Fold}
	if name := decl.Name; decl.Compute != nil {
		if err := checkFieldName(name); err != nil {
			return err
		}
		c, err := d.types.codecOf(decl.Result, false)
		if err != nil {
			return err
		}
		if d.Schema.Number(name) >= 0 {
			return errors.New("a field has this name: give the index another one")
		}
		d.Schema.Fields = append(d.Schema.Fields, Field{Name: name, Kind: c.Kind, Element: c.element, Computed: true, Zero: c.zero(decl.Result)})
		d.computes = append(d.computes, computation{name: name, compute: decl.Compute, codec: c, result: decl.Result})
	} else if len(decl.Columns) < 2 {
		return errors.New("a composite index has at least two columns; for one field use its tag")
	}
	for i, text := range decl.Columns {
		field, order, _ := strings.Cut(strings.TrimSpace(text), " ")
		if order != "" && order != "desc" && order != "asc" {
			return fmt.Errorf("column %q: %q is not an order: use asc or desc", text, order)
		}
		number := d.Schema.Number(field)
		if number < 0 {
			return fmt.Errorf("column %q: there is no such field, and no such computed index before this one", text)
		}
		if number < len(d.GoFields) && d.GoFields[number].counter {
			switch {
			case i < len(decl.Columns)-1:
				return fmt.Errorf("column %q: a counter can only be the last column", text)
			case decl.Unique:
				return fmt.Errorf("column %q: a counter cannot be part of a unique index", text)
			case d.Schema.Fields[number].Zero == nil:
				return fmt.Errorf("column %q: a counter that is a pointer cannot be part of an index of several fields", text)
			}
		}
		x.Columns = append(x.Columns, Column{Field: field, Desc: order == "desc"})
	}
	return d.Schema.addSpec(x)
}

// addID sets the id field.
func (d *Declaration) addID(g GoField, t reflect.Type) error {
	if d.ID.path != nil {
		return errors.New("another field is the id already")
	}
	if t.Kind() != reflect.String && g.Kind != kindInt && g.Kind != kindUint {
		return fmt.Errorf("an id is a string or an integer, not %s", t)
	}
	d.ID = g
	return nil
}

// addCollection adds a Set or List.
func (d *Declaration) addCollection(t tag, kind string) error {
	if len(t.options) > 0 {
		return fmt.Errorf("a Set or List takes no options, not %q", t.options[0])
	}
	if d.Schema.Number(t.name) >= 0 || slices.Contains(d.Schema.Collections, t.name) {
		return fmt.Errorf("another field is called %q too", t.name)
	}
	d.Schema.Collections = append(d.Schema.Collections, t.name)
	d.Kinds[t.name] = kind
	return nil
}

// NamesOfKind lists the sets or lists of the model, for errors.
func (d *Declaration) NamesOfKind(kind string) string {
	names := slices.DeleteFunc(slices.Clone(d.Schema.Collections), func(name string) bool { return d.Kinds[name] != kind })
	if len(names) == 0 {
		return fmt.Sprintf("the model has none; declare a field of type model.%s", map[string]string{"set": "Set", "list": "List"}[kind])
	}
	return "the model has " + strings.Join(names, ", ")
}
