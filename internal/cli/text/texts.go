package text

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/cli/shell"
)

// textFlags are the flags that name the source of the documents' texts.
type textFlags struct {
	from, field string
	files       []string
	// lookup is the value of Options.Text, or nil without a source.
	lookup func(ctx context.Context, ids []int64) (map[int64]string, error)
	in     *shell.Inputs // the files, if texts come from files
}

func (t *textFlags) add(c *shell.Command) {
	f := c.Flags()
	f.StringVar(&t.from, "from", "", "the texts: the hashes whose keys match this `PATTERN`, as in 'post:*'; * is the id")
	f.StringArrayVar(&t.files, "texts", nil, "the texts: the documents of this `FILE`; may be repeated")
	addField(c, &t.field)
}

func (t *textFlags) check() error {
	if t.from != "" && len(t.files) > 0 {
		return shell.Usage(errors.New("--from and --texts are two sources: use one"))
	}
	return nil
}

// open opens the source of the texts and sets lookup.
func (t *textFlags) open(c *shell.Command, client rueidis.Client, x *text.Index) (err error) {
	var src index.Source[text.Document]
	switch {
	case t.from != "":
		src, err = hashes(client, t.from, t.field)
	case len(t.files) > 0:
		if t.in, err = c.OpenInputs(t.files, "documents"); err != nil {
			return err
		}
		defer t.in.Close()
		src, err = load(t.in, t.field, x)
	default:
		return nil
	}
	t.lookup = func(ctx context.Context, ids []int64) (map[int64]string, error) { return texts(ctx, src, ids) }
	return err
}

// texts returns the texts of the objects that exist.
func texts(ctx context.Context, src index.Source[text.Document], ids []int64) (map[int64]string, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = strconv.FormatInt(id, 10)
	}
	objects, err := src.Lookup(ctx, names)
	found := make(map[int64]string, len(objects))
	for _, o := range objects {
		if id, err := parseID(o.ID); err == nil && o.Err == nil {
			found[id] = o.Value.Text
		}
	}
	return found, err
}

// rejected returns an error if the files have bad records, which have been reported.
func (t *textFlags) rejected() error {
	if t.in != nil && t.in.Rejected > 0 {
		return shell.ErrReported
	}
	return nil
}

// textsPerPage is the number of texts read together.
const textsPerPage = 100

// print prints IDs, and their texts if there is a source.
func (t *textFlags) print(ctx context.Context, p *shell.Printer, ids []int64) error {
	for chunk := range slices.Chunk(ids, textsPerPage) {
		var found map[int64]string
		if t.lookup != nil {
			var err error
			if found, err = t.lookup(ctx, chunk); err != nil {
				return err
			}
		}
		for _, id := range chunk {
			object, cells := shell.Object{{Name: "id", Value: id}}, []string{strconv.FormatInt(id, 10)}
			if body, ok := found[id]; ok {
				object, cells = append(object, shell.Field{Name: "text", Value: body}), append(cells, shell.ForTerminal(body))
			}
			if err := p.Print(object, cells...); err != nil {
				return err
			}
		}
	}
	return nil
}
