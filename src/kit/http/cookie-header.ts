/**
 * More than browsers keep for a domain with all its siblings (Chrome: 180): nobody can push our own cookie off the
 * list.
 */
const MAX_CANDIDATES = 200;

/** Values of all cookies with one name, in order: there can be several, of parent domains or other paths. */
export function cookieValues(lines: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  const wanted = `${name}=`;
  for (const line of lines) {
    for (let at = line.indexOf(wanted); at !== -1; at = line.indexOf(wanted, at + 1)) {
      if (!isStartOfPair(line, at)) continue;
      const end = line.indexOf(';', at);
      values.push(line.slice(at + wanted.length, end === -1 ? undefined : end).trim());
      if (values.length === MAX_CANDIDATES) return values;
    }
  }
  return values;
}

/**
 * After a semicolon, or nothing, and spaces. A space alone is not enough: values and names may contain spaces, so a
 * sibling host could hide a `__Host-` cookie in one of its own, where no browser looks for it.
 */
function isStartOfPair(line: string, nameAt: number): boolean {
  let at = nameAt - 1;
  while (at >= 0 && (line[at] === ' ' || line[at] === '\t')) at -= 1;
  return at < 0 || line[at] === ';';
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** Cookies whose value starts with `mark`, under any name. */
export function markedCookies(lines: readonly string[], mark: string): readonly Cookie[] {
  const marked = lines.filter((line) => line.includes(mark));
  return cookiesWhere(marked, ({ value }) => value.startsWith(mark));
}

export function cookiesWhere(lines: readonly string[], isWanted: (cookie: Cookie) => boolean): readonly Cookie[] {
  const cookies: Cookie[] = [];
  for (const line of lines) {
    for (const pair of line.split(';')) {
      const at = pair.indexOf('=');
      if (at === -1) continue;
      const cookie = { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
      if (isWanted(cookie)) cookies.push(cookie);
      if (cookies.length === MAX_CANDIDATES) return cookies;
    }
  }
  return cookies;
}

/** The line without cookies whose value starts with `mark`, also those without a name; empty: there is no other. */
export function withoutMarked(line: string, mark: string): string {
  const isMarked = (pair: string): boolean =>
    pair
      .slice(pair.indexOf('=') + 1)
      .trim()
      .startsWith(mark);
  return line
    .split(';')
    .filter((pair) => !isMarked(pair))
    .join(';')
    .trim();
}

/** Host-only, HttpOnly, Secure. */
export function setCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;
}

export function clearCookie(name: string): string {
  return setCookie(name, '', 0);
}
