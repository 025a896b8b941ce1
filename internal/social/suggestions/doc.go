// Package suggestions finds people for a viewer to follow: people followed by people that the
// viewer follows, and active accounts for a viewer who follows few or nobody.
//
// The path of a list of suggestions:
//
//  1. [Service.Get] takes the candidates of the viewer from memory, leaves out those who must
//     not be shown to the viewer now, and reads the others and who follows them.
//  2. Candidates that are not in memory, or outdated because the viewer has followed or
//     dismissed somebody, are found by Service.find. Its work is bounded, however many people
//     the viewer follows and these follow.
//  3. [Service.Refresh] ranks the active accounts; every few minutes one process does that.
//
// A person is never suggested who is followed, muted, blocked by or has blocked the viewer,
// dismissed, limited, suspended or gone, nor is the viewer.
package suggestions
