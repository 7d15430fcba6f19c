import { isAuthority } from '../../lib/http/is-authority.ts';
import { isVisibleAscii, pathProblem } from '../../lib/http/path-problem.ts';

/** Texts, and numbers of groups between them. */
export type Template = readonly (string | number)[];

/** Where a rule leads: `to`, parsed once. */
export interface Destination {
  /** Scheme, host and port that are written in `to`; null: this site. No capture is ever part of it. */
  readonly origin: string | null;
  readonly path: Template;
  /** Null: that of the request. */
  readonly query: Template | null;
  /** With its "#"; empty: none. */
  readonly fragment: string;
}

const ORIGIN = /^(https?:\/\/)([^/?#\\]*)/;
const REFERENCE = /\$(\$|\d{1,2})?/g;
const ESCAPED_IN_QUERY = /[^A-Za-z0-9\-._~%/]/g;

/** `mayLeave`: to another site, or to a place in a page. */
export function parseDestination(
  to: string,
  { mayLeave, groupCount }: { readonly mayLeave: boolean; readonly groupCount: number },
): Destination | { readonly problem: string } {
  const named = mayLeave ? ORIGIN.exec(to) : null;
  const rest = to.slice(named?.[0].length ?? 0);
  if (named !== null && !isAuthority(named[2] ?? ''))
    return { problem: 'must name a host after "//", without a user name and without "$"' };
  if (!rest.startsWith('/'))
    return { problem: rest === to ? startProblem(mayLeave) : 'must have a "/" after the host' };
  const [, path = '', query, fragment = ''] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(rest) ?? [];
  if (fragment !== '' && !mayLeave) return { problem: 'must not have a fragment: upstreams get none' };
  const parsed = { path: parseTemplate(path), query: query === undefined ? null : parseTemplate(query) };
  for (const template of [parsed.path, parsed.query ?? []]) {
    const problem = template.map((part) => referenceProblem(part, groupCount)).find((each) => each !== null);
    if (problem !== undefined) return { problem };
  }
  const sample = expand(parsed.path, SAMPLE);
  const problem = pathProblem(`${sample}?${query ?? ''}`, sample);
  if (problem !== null) return { problem: `can lead nowhere: ${problem}` };
  if (!isVisibleAscii(fragment) || fragment.includes('\\')) return { problem: 'has a fragment that must be escaped' };
  const origin = named === null ? null : named[0].toLowerCase();
  return { origin, ...parsed, fragment };
}

function startProblem(mayLeave: boolean): string {
  return `must start with "/"${mayLeave ? ', or with "https://" or "http://", a host and "/"' : ''}`;
}

function parseTemplate(text: string): Template {
  const parts: (string | number)[] = [];
  let at = 0;
  for (const { 0: whole, 1: name, index } of text.matchAll(REFERENCE)) {
    parts.push(text.slice(at, index), name === '$' ? '$' : name === undefined ? Number.NaN : Number(name));
    at = index + whole.length;
  }
  return [...parts, text.slice(at)];
}

function referenceProblem(part: string | number, groupCount: number): string | null {
  if (typeof part === 'string' || part <= groupCount) return null;
  if (Number.isNaN(part)) return 'has a "$" without a number: write "$$" for a dollar sign';
  if (groupCount < 0) return `has "$${part}", which only regular expressions can fill: write "$$" for a dollar sign`;
  return `has "$${part}", but the regular expression has ${groupCount} groups`;
}

type Groups = readonly (string | undefined)[];

/** For every group, to try a template without a request. */
export const SAMPLE: Groups = Array.from({ length: 100 }, () => 'x');

export function expand(template: Template, groups: Groups): string {
  return template.map((part) => (typeof part === 'string' ? part : (groups[part] ?? ''))).join('');
}

/** A group stays one value: its "&" and "=" would be read as others. */
export function expandQuery(template: Template, groups: Groups): string {
  return expand(
    template,
    groups.map((group) => group?.replaceAll(ESCAPED_IN_QUERY, (character) => encodeURIComponent(character))),
  );
}
