package seed

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

var givenNames = strings.Fields(`ada alan alma amir anna aria arlo asha astrid bea ben
bram carla carlos chen chloe clara dana dario dev dora edda eli elif ella emil
enzo esme eva fatima felix fei finn flora frida gita grace hana hugo ida ines
iris ivan jamal jana jonas jude juno kai karin kira lars layla lea leo lena lin
lucia luis maia malik mara marco maya mei mila milo mina nadia nia nils noor
nora oki olga omar oona oscar otto paul pia priya quinn rafa remy rita robin
rosa ruth sami sara sofia sven tara theo tilda tomas uma vera viktor wanda wei
yara yuki zara zoe`)

var familyNames = strings.Fields(`abe bach berg blum bohm brook cole costa cruz dahl
diaz drake eco falk fox frost garcia gold hahn hart holm hook iyer jain jensen
kaur khan kim klein kovac lang lee lind lopez lund marsh may moon moss nash
north novak okoye olsen park patel perez pike quist rao reed rios roth ruiz
sato shah silva singh sole stone storm tan toth vance vega vogt wade wolf wong
wu yang young zhang`)

// userName returns the name of user i; names in a network are unique.
func userName(seed uint64, i int) string {
	pairs := len(givenNames) * len(familyNames)
	// A step coprime to the number of pairs visits each pair once.
	at := (i*7919 + int(seed%uint64(pairs))) % pairs
	name := givenNames[at%len(givenNames)] + "_" + familyNames[at/len(givenNames)]
	if round := i / pairs; round > 0 {
		name = fmt.Sprintf("%s%d", name, round)
	}
	return name
}

var templates = []string{
	"{start} {thing} {place}.",
	"{start} {thing} {place}. {close}",
	"{opinion}: {thing}.",
	"{opinion}: {thing}. {close}",
	"{doing} {place}. {close}",
	"{doing} and {doing}. {close}",
	"Has anyone here tried {thing} {place}? {close}",
	"Note to self: {lesson}.",
	"Today I learned: {lesson}. {close}",
	"{lesson}. {close}",
	"{time}, {doing}. {close}",
	"{time}, {thing} {place}.",
}

var words = map[string][]string{
	"start": {
		"Nothing beats", "Still thinking about", "Day three of", "Finally found", "In praise of",
		"Small joys:", "Looking for", "Made peace with", "Cannot stop talking about", "Back to",
	},
	"opinion": {
		"Unpopular opinion", "Best thing this week", "Underrated", "Overrated", "Currently reading about",
		"My weekend in two words", "Recommended", "Somebody explain to me",
	},
	"thing": {
		"fresh bread", "a sorted set with a good score", "the first coffee", "a quiet train", "an old bicycle",
		"tomatoes from the balcony", "a night sky without clouds", "the long way home", "a well-worn notebook",
		"a list that is capped", "the smell of rain", "second-hand books", "an inbox at zero", "a slow Sunday",
		"Lua scripts of ten lines", "swimming before breakfast", "the last seat in the cinema", "maps on paper",
		"soup for dinner", "a river in October", "the radio at night", "hand-written letters",
	},
	"place": {
		"by the sea", "at the corner café", "in the garden", "on the night train", "in an empty office",
		"under the old bridge", "on the roof", "in the library", "at the market", "somewhere in the hills",
		"after the storm", "at my grandmother's table", "between two meetings", "in the first snow",
	},
	"doing": {
		"walking along the canal", "fixing a bug that was never there", "waiting for the kettle",
		"learning to play the cello", "counting swifts", "repainting the kitchen", "reading the manual for once",
		"teaching my neighbour chess", "planting garlic", "watching the ferries", "baking far too much bread",
		"running in the drizzle", "sorting photographs", "writing tests first",
	},
	"lesson": {
		"a cache is a promise that somebody has to keep", "measure first, then change one thing",
		"never plant mint without a pot", "the early tram is always the emptiest",
		"names are the hardest part of any program", "good tea needs three minutes, not five",
		"a backup is only one after it has been read back", "most meetings could be a walk",
		"bread wants time more than it wants work", "the cheapest request is the one not made",
		"umbrellas prevent rain, forgetting them does not",
	},
	"close": {
		"More tomorrow.", "Ask me how.", "Worth it.", "That is all.", "Who is in?", "Highly recommended.",
		"Nobody warned me.", "Photos soon.", "Ten out of ten.", "Send help.", "Your turn.", "",
	},
	"time": {"This morning", "Late last night", "On the way to work", "Every Tuesday", "Between two rain showers", "At noon"},
}

// sentence generates the text of a post.
func sentence(rng *rand.Rand) string {
	text := templates[rng.IntN(len(templates))]
	for {
		from := strings.IndexByte(text, '{')
		if from < 0 {
			break
		}
		to := from + strings.IndexByte(text[from:], '}')
		choices := words[text[from+1:to]]
		text = text[:from] + choices[rng.IntN(len(choices))] + text[to+1:]
	}
	return capitalize(strings.TrimSpace(text))
}

var answers = []string{
	"Same here.", "How did it go?", "I did not know that.", "Not in my experience.", "Tell us more!",
	"Where was that?", "This made my day.", "I would try it again on a Tuesday.", "Agreed, with one exception.",
	"Thank you for this.", "Count me in.", "My neighbour says the opposite.", "Took me years to find out.",
}

var tags = []string{"bread", "rain", "redis", "garden", "books", "trains", "coffee", "music"}

// answer generates the text of a reply.
func answer(rng *rand.Rand) string {
	text := answers[rng.IntN(len(answers))]
	if rng.IntN(3) == 0 {
		text += " " + sentence(rng)
	}
	return text
}

// tag generates the tag at the end of some posts.
func tag(rng *rand.Rand) string {
	if rng.IntN(4) != 0 {
		return ""
	}
	return " #" + tags[rng.IntN(len(tags))]
}

// capitalize starts each sentence with a capital letter.
func capitalize(text string) string {
	b := []byte(text)
	begin := true
	for i, c := range b {
		if begin && 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		if c != ' ' {
			begin = c == '.' || c == '?'
		}
	}
	return string(b)
}
