const UNCLOSED = 'a [ or { is not closed: close it with ] or }, and indent what is inside it';

/** What is wrong and what to do, by the code of the parser. They quote nothing of the text. */
const SENTENCES: Readonly<Record<string, (message: string) => string | null>> = {
  BAD_INDENT: (message) =>
    message.startsWith('Flow')
      ? UNCLOSED
      : 'the line is indented by another number of spaces than the lines that it belongs to: give them the same',
  TAB_AS_INDENT: () => 'is indented with a tab: YAML requires spaces',
  MULTILINE_IMPLICIT_KEY: () =>
    'a name and its ":" must be on one line: check the indentation of this line and the next',
  BLOCK_AS_IMPLICIT_KEY: () =>
    'a line has two names with ":": put the value in quotes, or the second name on a line of its own',
  BAD_SCALAR_START: () => 'a value starts with a character that YAML reserves: put the value in quotes',
  BAD_DQ_ESCAPE: () => 'a backslash in double quotes starts nothing that YAML knows: write two, or use single quotes',
  KEY_OVER_1024_CHARS: () => 'a name is longer than 1024 characters, which YAML does not allow',
  TAG_RESOLVE_FAILED: () => 'Unresolved tag: a value that starts with "!" needs quotes',
  UNEXPECTED_TOKEN: () => 'YAML does not expect this here: check quotes, brackets and the indentation',
  MISSING_CHAR: (message) => {
    if (message.includes('quote')) return 'a quote is not closed: add the missing quote';
    if (message.includes('followed by map values')) return 'a name has no ":" after it: write "name: value"';
    return message.startsWith('Flow') ? UNCLOSED : null;
  },
};

/** Null: the words of the parser say it. */
export function syntaxWords(code: string, message: string): string | null {
  return SENTENCES[code]?.(message) ?? null;
}
