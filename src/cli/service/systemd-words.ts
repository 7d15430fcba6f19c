/**
 * Quoting for unit files (systemd.syntax(7), "Quoting") and environment files (systemd.exec(5), EnvironmentFile=).
 */

/** Words of `ExecStart=`: specifiers (%) and variables ($) stay as they are typed. */
export function execLine([program = '', ...words]: readonly string[]): string {
  // systemd replaces no variables in the program's own path, and so "$$" would stay.
  return [quoted(program), ...words.map((word) => quoted(word.replaceAll('$', '$$$$')))].join(' ');
}

/** systemd rejects these in the path of a program ("Executable name contains special characters"). */
export function isStartable(program: string): boolean {
  return !/["'\\\p{Cc}]/u.test(program);
}

/** A value of another setting that takes one path: it has specifiers but no quoting. */
export function unitPath(path: string): string {
  return path.replaceAll('%', '%%');
}

function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  if (/^[\w@%+=:,./${}-]+$/.test(escaped)) return escaped;
  return `"${escaped.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`;
}

/** Lines of an environment file by variable. Comments and lines that systemd would ignore are not in it. */
export function readEnvironment(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, name = '', raw = ''] of text.matchAll(/^([A-Za-z_]\w*)=("(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\n]*)$/gm)) {
    if (raw.startsWith('"')) values.set(name, raw.slice(1, -1).replaceAll(/\\([\s\S])/g, '$1'));
    else values.set(name, raw.startsWith("'") ? raw.slice(1, -1) : raw.trim());
  }
  return values;
}

/** Replaces or adds one variable, and leaves every other line as it is. */
export function withVariable(text: string, name: string, value: string): string {
  const line = `${name}="${value.replaceAll(/["\\$`]/g, '\\$&')}"`;
  const existing = new RegExp(`^${name}=(?:"(?:[^"\\\\]|\\\\[\\s\\S])*"|[^\\n]*)$`, 'm');
  if (existing.test(text)) return text.replace(existing, () => line);
  return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${line}\n`;
}
