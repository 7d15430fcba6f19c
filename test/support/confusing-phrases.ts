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

/**
 * Words that docs/concepts.md replaced, and its word. Only forms that mean nothing else: "user" is also a user of the
 * machine, and "process" one of the operating system.
 */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\b(?:an?|the|another|this|your|its) auth ?tokens?\b/i, 'agent token'],
  [/\b(?:tokens? of (?:a|the|its) credential|credential's token)\b/i, 'agent token'],
  [/\btunnel listeners?\b|\blistener for agents\b/i, 'gateway'],
  [/\b(?:logged-in|login) users?\b|\busers? (?:must|has to|have to) log\b/i, 'person, people'],
  [/\bper process\b|\bevery process serves\b|\bseveral processes on PostgreSQL\b/i, 'node'],
  [/\bworker threads?\b/i, 'worker'],
  [/\bephemeral (?:endpoints?|tunnels?)\b/i, 'address of a tunnel'],
];

/** Words in a line of prose for users that the glossary of docs/concepts.md replaced, each with its word. */
export function replacedWords(prose: string): readonly string[] {
  return REPLACED.filter(([word]) => word.test(prose)).map(
    ([word, instead]) => `"${word.exec(prose)?.[0]}" – ${instead}`,
  );
}

/** The confusing phrases in a line of prose, each with what to write instead. */
export function confusingPhrases(prose: string): readonly string[] {
  return PHRASES.filter(([phrase]) => phrase.test(prose)).map(
    ([phrase, instead]) => `"${phrase.exec(prose)?.[0]}" – ${instead}`,
  );
}
