package record

import (
	"context"
	"fmt"
	"reflect"

	"retwis/model/internal/schema"
)

// Field reads one field of a record.
func (o *Objects) Field(ctx context.Context, id string, number int) (reflect.Value, error) {
	record := o.Declaration.NewRecord()
	field := o.Declaration.GoFields[number].Of(record)
	if err := o.CheckID(id); err != nil {
		return field, err
	}
	fields, only := make([]schema.Text, len(o.Declaration.Schema.Fields)), []int{number}
	known, err := o.Table.Rows.ParseSome(id, o.Table.Rows.DoSome(ctx, []string{id}, only)[0], only, fields)
	if err == nil && !known {
		err = o.Table.Rows.Absent(ctx, id)
	}
	if err == nil {
		err = o.Declaration.Decode(o.Table.Layout.Of(id).Record(id), id, fields, record)
	}
	return field, err
}

// TypedField returns the number of a stored field, which must have the Go type t.
func (o *Objects) TypedField(name string, t reflect.Type) (int, error) {
	number := o.Declaration.Schema.Number(name)
	if number < 0 || number >= len(o.Declaration.GoFields) {
		return 0, o.Declaration.Unknown(name)
	}
	if fieldType := o.Declaration.GoFields[number].Of(o.Declaration.NewRecord()).Type(); fieldType != t {
		return 0, fmt.Errorf("%w: field %s is %s, not %s", schema.ErrValue, name, fieldType, t)
	}
	return number, nil
}
