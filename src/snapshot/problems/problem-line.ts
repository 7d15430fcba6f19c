export interface NamedProblem {
  readonly module: string;
  readonly message: string;
  /** Where the problem is, if not at the requested record itself. */
  readonly place?: string;
}

/** Many clients and proxies accept 8 KB of headers in all: this leaves room for the others. */
const MAX_LINE_LENGTH = 1000;
const MAX_MESSAGE_LENGTH = 300;

/** `oidc: first problem; backend: second problem`, as one bounded line of visible ASCII, fit for a header. */
export function problemLine(problems: readonly NamedProblem[]): string {
  const parts: string[] = [];
  let length = 0;
  for (const { module, message, place } of problems) {
    const part = `${module}: ${headerText(message)}${place === undefined ? '' : ` (${place})`}`;
    length += part.length + 2;
    if (parts.length > 0 && length > MAX_LINE_LENGTH)
      return `${parts.join('; ')}; and ${problems.length - parts.length} more`;
    parts.push(part);
  }
  return parts.join('; ');
}

function headerText(message: string): string {
  const line = message
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[^\x20-\x7e]/g, '?');
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH - 3)}...` : line;
}
