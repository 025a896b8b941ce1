// Package timeline is the reading side: what pages show.
//
//   - [Timelines] returns the ids of a timeline: of a user, of everybody, of a profile.
//   - [Views] keeps posts in memory that were shown lately, and [Viewers] those who look.
//   - [Lists] puts them together: pages of posts as a viewer sees them.
//   - [Standings] knows who is limited or suspended.
package timeline
