/** Phrases that make a reader stumble, and what to write instead. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, 'name the subject: "a client that …"'],
  [/\bin words\b|\bwith words\b/i, 'say what the text contains'],
  [/\banew\b/i, 'again, or a verb with re-: "reconnects"'],
  [/\ball the same\b/i, 'still, anyway'],
  [/\bof before\b/i, 'earlier, previous'],
  [/\bany more\b|\bnot? longer any\b/i, 'no longer'],
  [/\bby what right\b/i, 'credentials'],
  [/\bfor ever\b/i, 'indefinitely, permanently'],
  [/\b(is|are|was|were) told\b/i, 'is notified, gets, receives'],
  [/\bunder way\b/i, 'in flight, in progress'],
  [/\blets? nothing through\b/i, 'refuses traffic'],
  [/\b(is|are|be|was|were) judged\b/i, 'is checked, is evaluated'],
  [/\btaken out\b|\btakes out\b/i, 'removes'],
  [/\bmends?\b|\bmended\b/i, 'repair, fix'],
  [/\bcut short\b/i, 'truncated'],
  [/\bwell-kept\b/i, 'well-maintained'],
  [/\bgives? back the\b/i, 'restore, return'],
  [/\b(?:is|are) not there\b/i, 'does not exist, is missing'],
  [/\btakes? no (?:more|writes|requests)\b/i, 'rejects, is read-only'],
  [/\bnothing of the request\b/i, 'the request was not applied'],
  [/\b(?:come|came) (?:to pass|about)\b/i, 'happen'],
  [/\bno answer within\b/i, 'no response within'],
  [/\bat whichever\b|\bin whatever\b/i, 'at any, in any'],
  [/(^|[.!?] +)(Of (?!course)|Whoever )/, 'put the subject first'],
];

/** The confusing phrases in a line of prose, each with what to write instead. */
export function confusingPhrases(prose: string): readonly string[] {
  return PHRASES.filter(([phrase]) => phrase.test(prose)).map(
    ([phrase, instead]) => `"${phrase.exec(prose)?.[0]}" – ${instead}`,
  );
}
