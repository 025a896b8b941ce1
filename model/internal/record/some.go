package record

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// DoSome reads some fields of records, by their numbers, in one pipeline.
func (r *Rows) DoSome(ctx context.Context, ids []string, numbers []int) []rueidis.RedisResult {
	names := make([]string, 0, len(numbers)+1)
	for _, n := range numbers {
		names = append(names, r.Names[n])
	}
	if len(names) == 0 {
		names = append(names, emptyField)
	} else {
		names = append(names, r.formerNames(numbers)...)
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.client.B().Hmget().Key(r.Of(id).Record(id)).Field(names...).Build()
	}
	return r.client.DoMulti(ctx, commands...)
}

// ParseSome reads a reply of DoSome into fields, as Parse does.
func (r *Rows) ParseSome(id string, reply rueidis.RedisResult, numbers []int, fields []schema.Text) (known bool, err error) {
	list, err := reply.ToArray()
	if err != nil {
		return false, r.readError(id, err)
	}
	former := slices.DeleteFunc(slices.Clone(r.Renamed), func(i int) bool { return !slices.Contains(numbers, i) })
	for i := range list {
		if list[i].IsNil() {
			continue
		}
		known = true
		if i >= len(numbers)+len(former) {
			continue
		}
		s, err := list[i].ToString()
		if err != nil {
			return false, r.readError(id, err)
		}
		if i < len(numbers) {
			fields[numbers[i]] = schema.Text{Value: s, OK: true}
		} else {
			r.setFormer(fields, former[i-len(numbers)], s)
		}
	}
	return known, nil
}

// Field reads one field of a record.
func (o *Objects) Field(ctx context.Context, id string, number int) (reflect.Value, error) {
	record := o.NewRecord()
	field := o.GoFields[number].Of(record)
	if err := o.CheckID(id); err != nil {
		return field, err
	}
	fields, only := make([]schema.Text, len(o.Fields)), []int{number}
	known, err := o.Table.Rows.ParseSome(id, o.Table.Rows.DoSome(ctx, []string{id}, only)[0], only, fields)
	if err == nil && !known {
		err = o.Table.Rows.Absent(ctx, id)
	}
	if err == nil {
		err = o.Decode(o.Table.Of(id).Record(id), id, fields, record)
	}
	return field, err
}

// TypedField returns the number of a field that is stored and has a Go type.
func (o *Objects) TypedField(name string, t reflect.Type) (int, error) {
	number := o.Number(name)
	if number < 0 || number >= len(o.GoFields) {
		return 0, o.Unknown(name)
	}
	if is := o.GoFields[number].Of(o.NewRecord()).Type(); is != t {
		return 0, fmt.Errorf("%w: field %s is %s, not %s", schema.ErrValue, name, is, t)
	}
	return number, nil
}
