package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// declaration is what New reads from a struct: how its fields are written, and
// the schema of what is stored.
type declaration struct {
	schema
	types    types
	goType   reflect.Type
	goFields []goField // as schema.fields, without the computed ones
	computes []computation
	id       goField
	refs     []refField
	kinds    map[string]string // "set" or "list", by the name of the collection
}

// goField is where a field is in the struct, and how it is written.
type goField struct {
	codec
	path    []int
	goName  string
	stored  string
	counter bool
}

// computation is what fills a computed field.
type computation struct {
	codec
	name   string
	of     func(record any) any
	result reflect.Type
}

// refField is a field that refers to other records.
type refField struct {
	field  int
	target reflect.Type
	rule   OnDelete // "": nothing
}

// of returns the field in a struct, or in one that is embedded there.
func (f *goField) of(record reflect.Value) reflect.Value {
	if len(f.path) == 1 {
		return record.Field(f.path[0])
	}
	return record.FieldByIndex(f.path)
}

// indexDeclaration is an index that a model declares by its method Indexes.
type indexDeclaration struct {
	name    string
	columns []string
	unique  bool
	fold    bool
	compute func(record any) any // takes a pointer, and returns one; nil: a composite
	result  reflect.Type
}

// declare reads the declaration of a struct type.
func declare(t reflect.Type, y types, indexes []indexDeclaration) (*declaration, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	d := &declaration{schema: schema{version: -1, expires: -1, typeName: t.Name()}, types: y, goType: t, kinds: map[string]string{}}
	if err := d.addFields(t, nil); err != nil {
		return nil, err
	}
	if d.id.path == nil {
		return nil, fmt.Errorf("%s has no id: give a field of type string or an integer the tag `redis:\",id\"`", t)
	}
	for i := range indexes {
		if err := d.addIndex(&indexes[i]); err != nil {
			return nil, fmt.Errorf("%s.Indexes: index %q: %w", t, indexes[i].name, err)
		}
	}
	return d, nil
}

func (d *declaration) addFields(t reflect.Type, path []int) error {
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
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
	}
	return nil
}

// writesItself tells whether an embedded struct is a field of its own: its fields
// say nothing of it.
func (y types) writesItself(t reflect.Type) bool {
	c, err := y.marshalerCodec(t)
	return err != nil || c.kind != "" || writesJSON(t)
}

func (d *declaration) addField(f reflect.StructField, text string, path []int) error {
	tag, err := parseTag(text, f.Name)
	if err != nil {
		return err
	}
	if kind := d.types.collection(f.Type); kind != "" {
		return d.addCollection(tag, kind)
	}
	codec, err := d.types.codecOf(f.Type, tag.has("unix"))
	if err != nil {
		return err
	}
	g := goField{codec: codec, path: path, goName: f.Name, stored: tag.name, counter: tag.has("counter")}
	if tag.has("id") {
		return d.addID(g, f.Type)
	}
	if d.number(tag.name) >= 0 || slices.Contains(d.collections, tag.name) {
		return fmt.Errorf("another field is called %q too: give one of them another name in its tag", tag.name)
	}
	number := len(d.fields)
	switch {
	case tag.has("version") && d.version >= 0, tag.has("expires") && d.expires >= 0:
		return errors.New("another field has this option too")
	case tag.has("version") && (codec.kind != kindInt || f.Type.Kind() != reflect.Int64 && f.Type.Kind() != reflect.Int):
		return errors.New("a version is an int64")
	case tag.has("expires") && codec.kind != kindTime && codec.kind != kindUnix:
		return errors.New("expires is for a time.Time")
	case tag.has("counter") && codec.kind != kindInt:
		return errors.New("a counter is an integer with a sign")
	case tag.has("version"):
		d.version = number
	case tag.has("expires"):
		d.expires = number
	}
	d.goFields = append(d.goFields, g)
	d.names, d.counters = append(d.names, tag.name), append(d.counters, g.counter)
	d.fields = append(d.fields, field{Name: tag.name, Kind: codec.kind, Element: codec.element, Zero: codec.zero(f.Type)})
	return d.addFieldIndexes(number, tag, f.Type)
}

// addFieldIndexes adds the indexes that the tag of a field asks for.
func (d *declaration) addFieldIndexes(number int, tag tag, t reflect.Type) error {
	f := d.fields[number]
	for _, o := range []string{"index", "range", "unique"} {
		if !tag.has(o) {
			continue
		}
		x := indexSpec{Name: f.Name, Columns: []column{{Field: f.Name}}, Unique: o == "unique", Equal: o == "index", Fold: tag.has("fold")}
		if o == "range" && tag.has("unique") {
			x.Name = f.Name + ".range" // beside the unique one
		}
		if err := d.addSpec(x); err != nil {
			return err
		}
	}
	codec := d.goFields[number].codec
	rule := OnDelete("")
	for _, r := range []OnDelete{Restrict, Cascade, Clear} {
		if tag.has(string(r)) {
			rule = r
		}
	}
	switch {
	case rule != "" && codec.target == nil:
		return fmt.Errorf("%s is for a model.Ref, not %s", rule, t)
	case rule != "" && !tag.has("index") && !tag.has("range"):
		return fmt.Errorf("%s needs to find the records that refer: add index", rule)
	case rule != "" && tag.has("fold"):
		return fmt.Errorf("%s and fold: ids that differ by case are different records: leave fold out", rule)
	case codec.target != nil:
		if rule != "" {
			d.rules = append(d.rules, storedRef{f.Name, codec.target.Name(), rule})
		}
		d.refs = append(d.refs, refField{field: number, target: codec.target, rule: rule})
	}
	return nil
}

// addIndex adds an index that the model declares by its method.
func (d *declaration) addIndex(decl *indexDeclaration) error {
	x := indexSpec{Name: decl.name, Unique: decl.unique, Fold: decl.fold}
	if name := decl.name; decl.compute != nil {
		if err := checkFieldName(name); err != nil {
			return err
		}
		c, err := d.types.codecOf(decl.result, false)
		if err != nil {
			return err
		}
		if d.number(name) >= 0 {
			return errors.New("a field is called so: give the index another name")
		}
		d.fields = append(d.fields, field{Name: name, Kind: c.kind, Element: c.element, Computed: true, Zero: c.zero(decl.result)})
		d.computes = append(d.computes, computation{name: name, of: decl.compute, codec: c, result: decl.result})
	} else if len(decl.columns) < 2 {
		return errors.New("a composite index has at least two columns; for one field use its tag")
	}
	for _, text := range decl.columns {
		field, order, _ := strings.Cut(strings.TrimSpace(text), " ")
		if order != "" && order != "desc" && order != "asc" {
			return fmt.Errorf("column %q: %q is not an order: use asc or desc", text, order)
		}
		number := d.number(field)
		if number < 0 {
			return fmt.Errorf("column %q: no field, and no computed index before this one, is called so", text)
		}
		if number < len(d.goFields) && d.goFields[number].counter {
			return fmt.Errorf("column %q: a counter is changed without its indexes", text)
		}
		x.Columns = append(x.Columns, column{Field: field, Desc: order == "desc"})
	}
	return d.addSpec(x)
}

func (d *declaration) addID(g goField, t reflect.Type) error {
	if d.id.path != nil {
		return errors.New("another field is the id already")
	}
	if t.Kind() != reflect.String && g.kind != kindInt && g.kind != kindUint {
		return fmt.Errorf("an id is a string or an integer, not %s", t)
	}
	d.id = g
	return nil
}

func (d *declaration) addCollection(t tag, kind string) error {
	if len(t.options) > 0 {
		return fmt.Errorf("a Set or List takes no options, not %q", t.options[0])
	}
	if d.number(t.name) >= 0 || slices.Contains(d.collections, t.name) {
		return fmt.Errorf("another field is called %q too", t.name)
	}
	d.collections = append(d.collections, t.name)
	d.kinds[t.name] = kind
	return nil
}

// thoseOf says which sets or lists there are.
func (d *declaration) thoseOf(kind string) string {
	names := slices.DeleteFunc(slices.Clone(d.collections), func(name string) bool { return d.kinds[name] != kind })
	if len(names) == 0 {
		return fmt.Sprintf("the model has none; declare a field of type model.%s", map[string]string{"set": "Set", "list": "List"}[kind])
	}
	return "the model has " + strings.Join(names, ", ")
}
