import { matchKey } from '../../lib/http/match-key.ts';
import { pathProblem } from '../../lib/http/path-problem.ts';
import { compilePattern } from '../../lib/text/linear-pattern.ts';
import { maxTextLength } from '../../lib/text/pattern-budget.ts';
import { type Destination, expand, expandQuery, parseDestination } from './destination.ts';
import type { PathRule } from './path-rule.ts';

/** A group may be used more than once. */
const MAX_RESULT_LENGTH = 8_192;

/** Where a rule leads a request. */
export interface RuleResult {
  /** Position of the rule. */
  readonly at: number;
  readonly origin: string | null;
  readonly path: string;
  /** Path and query. */
  readonly target: string;
  readonly fragment: string;
  /** Whether it can be sent: nothing in it is read differently by other programs. */
  readonly isValid: boolean;
}

interface Matched {
  readonly groups: readonly (string | undefined)[];
  readonly rest: string;
}

interface CompiledRule {
  readonly destination: Destination;
  /** The groups of a pattern, and what follows a prefix; null: it does not match. */
  readonly match: (path: string, key: string) => Matched | null;
  readonly isPattern: boolean;
  /** Steps of its pattern, and what a match of it counts. */
  readonly size: number;
  readonly matchSize: number;
}

/** Rules in their order, parsed once. */
export class PathRules {
  readonly #rules: readonly CompiledRule[];
  /** Steps of all patterns. */
  readonly size: number;
  readonly #maxLength: number;

  /** Throws on a rule that nothing could have stored. */
  constructor(rules: readonly PathRule[], mayLeave: boolean) {
    this.#rules = rules.map((rule) => {
      const compiled = compileRule(rule, mayLeave);
      if ('problem' in compiled) throw new Error(`${compiled.field} ${compiled.problem}`);
      return compiled;
    });
    this.size = this.#rules.reduce((total, { size }) => total + size, 0);
    this.#maxLength = maxTextLength(this.size, Math.max(...this.#rules.map(({ matchSize }) => matchSize)));
  }

  destinationOf(at: number): Destination {
    return (this.#rules[at] as CompiledRule).destination;
  }

  /** The first rule from `from` on that matches; null: none does. */
  find({ path, target }: { readonly path: string; readonly target: string }, from = 0): RuleResult | null {
    const key = matchKey(path);
    for (let at = from; at < this.#rules.length; at += 1) {
      const { destination, match, isPattern } = this.#rules[at] as CompiledRule;
      if (isPattern && path.length > this.#maxLength)
        return { at, origin: null, path, target, fragment: '', isValid: false };
      const matched = match(path, key);
      if (matched !== null) return resultOf(at, destination, matched, target.slice(path.length));
    }
    return null;
  }
}

function resultOf(
  at: number,
  { origin, path: template, query, fragment }: Destination,
  { groups, rest }: Matched,
  receivedQuery: string,
): RuleResult {
  const start = expand(template, groups);
  const path = start + (start.endsWith('/') && rest.startsWith('/') ? rest.slice(1) : rest);
  const target = path + (query === null ? receivedQuery : withMark(expandQuery(query, groups)));
  const isValid = target.length <= MAX_RESULT_LENGTH && pathProblem(target, path) === null;
  return { at, origin, path, target, fragment, isValid };
}

/** An empty query drops that of the request. */
function withMark(query: string): string {
  return query === '' ? '' : `?${query}`;
}

/** The field is the one with the problem. */
export function compileRule(
  { match_type: type, match, to }: PathRule,
  mayLeave: boolean,
): CompiledRule | { readonly field: 'match' | 'to'; readonly problem: string } {
  const pattern = type === 'regex' ? compilePattern(match) : null;
  if (pattern !== null && 'problem' in pattern) return { field: 'match', problem: pattern.problem };
  const problem = pattern === null ? matchProblem(match) : null;
  if (problem !== null) return { field: 'match', problem };
  const destination = parseDestination(to, { mayLeave, groupCount: pattern?.groupCount ?? -1 });
  if ('problem' in destination) return { field: 'to', problem: destination.problem };
  const base = {
    destination,
    isPattern: pattern !== null,
    size: pattern?.size ?? 0,
    matchSize: pattern?.matchSize ?? 0,
  };
  if (pattern !== null)
    return {
      ...base,
      match: (path) => {
        const groups = pattern.match(plainPath(path));
        return groups === null ? null : { groups, rest: '' };
      },
    };
  const wanted = matchKey(match);
  if (type === 'exact_path') return { ...base, match: (_path, key) => (key === wanted ? WHOLE : null) };
  if (match.endsWith('/') && !expand(destination.path, []).endsWith('/'))
    return { field: 'to', problem: 'must have a path that ends with "/", as "match" does' };
  return {
    ...base,
    match: (path, key) =>
      key.startsWith(wanted) ? { groups: [], rest: path.slice(rawLength(path, wanted.length)) } : null,
  };
}

const WHOLE = { groups: [], rest: '' };

function matchProblem(match: string): string | null {
  if (/[?#]/.test(match)) return 'must be a path without "?" and "#"';
  const problem = pathProblem(match, match);
  return problem === null ? null : `can never match, because the edge rejects such requests: ${problem}`;
}

/** Escapes of characters that need none are decoded (RFC 3986 §6.2.2): what a pattern captures is still text of a path. */
function plainPath(path: string): string {
  return path.replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escaped.toUpperCase();
  });
}

/** How much of a path as received makes up so many characters of its key. */
function rawLength(path: string, keyLength: number): number {
  let at = 0;
  for (let done = 0; done < keyLength; ) {
    const isEscape = path[at] === '%';
    // A key keeps "%2F".
    done += isEscape && /^2f$/i.test(path.slice(at + 1, at + 3)) ? 3 : 1;
    at += isEscape ? 3 : 1;
  }
  return at;
}
