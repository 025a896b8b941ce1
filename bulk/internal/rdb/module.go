package rdb

import (
	"fmt"
)

// Parts of a module value.
const (
	partEnd = iota
	partSigned
	partUnsigned
	partFloat
	partDouble
	partString
)

// moduleName decodes the name of a module from its ID.
func moduleName(id uint64) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var name [9]byte
	for i := range name {
		name[i] = letters[id>>(58-6*i)&63]
	}
	return string(name[:])
}

// moduleValue skips a module value, which only the module can interpret.
func (r *Reader) moduleValue() {
	name := moduleName(r.number())
	r.skipParts()
	if r.inOtherDatabase() {
		return
	}
	r.fault(fmt.Sprintf("it is a value of the module %s: load this snapshot into a server that has the module, or skip such keys", name))
}

// moduleData skips data of a module that belongs to no key.
func (r *Reader) moduleData() {
	name := moduleName(r.number())
	r.number()
	r.number()
	r.skipParts()
	if r.in.err == nil && r.only == nil {
		r.refuse(&KeyError{DB: r.db, Offset: r.at, Reason: fmt.Sprintf("the snapshot has data of the module %s that belongs to no key: "+
			"load it into a server that has the module, or skip such data", name)})
	}
}

// skipParts skips the parts of a module value.
func (r *Reader) skipParts() {
	for r.in.err == nil {
		switch part := r.number(); part {
		case partEnd:
			return
		case partSigned, partUnsigned:
			r.number()
		case partFloat:
			r.in.skip(4)
		case partDouble:
			r.in.skip(8)
		case partString:
			r.skipText()
		default:
			r.damaged("a module's value has a part of kind %d", part)
		}
	}
}
