import type { Static, TProperties } from 'typebox';
import Type from 'typebox';
import { isAuthority, isVisibleAscii, matchKey, pathProblem } from '../../kit/http/urls.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { areTooLargeTogether, compilePattern, isTooLarge, maxTextLength } from '../../kit/text/linear-pattern.ts';
import type { AcceptedForm, AgentAccess } from '../contract/agent-form.ts';

/** Texts, and numbers of groups between them. */
type Template = readonly (string | number)[];

/** Where a rule leads: `to`, parsed once. */
interface Destination {
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
function parseDestination(
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
function expandQuery(template: Template, groups: Groups): string {
  return expand(
    template,
    groups.map((group) => group?.replaceAll(ESCAPED_IN_QUERY, (character) => encodeURIComponent(character))),
  );
}

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
function compileRule(
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

/**
 * Escapes of characters that need none are decoded (RFC 3986 §6.2.2): what a pattern captures is still text of a path.
 */
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

const MATCH_TYPES = ['exact_path', 'path_prefix', 'regex'] as const;
const MAX_RULES = 50;
const MAX_LENGTH = 1_024;

/** A rule as it is stored. */
export interface PathRule {
  readonly match_type: (typeof MATCH_TYPES)[number];
  readonly match: string;
  readonly to: string;
}

/** The first of the rules, which all read paths; null: there is none. */
export function firstRule([first]: readonly PathRule[]): string | null {
  return first === undefined ? null : `rules[0] ${first.match_type} ${first.match}`;
}

/** The rules of a module; `destination` describes `to`. */
export function rulesField<Fields extends TProperties>(what: string, destination: string, fields: Fields) {
  const properties = {
    match_type: Type.Enum([...MATCH_TYPES], {
      description:
        'How "match" is compared with the path: exact_path with the whole path, path_prefix with its start, regex as a regular expression in the syntax of RE2.',
    }),
    match: Type.String({
      minLength: 1,
      maxLength: MAX_LENGTH,
      description: 'A path such as "/old/", or a regular expression such as "^/users/([0-9]+)$".',
    }),
    to: Type.String({
      minLength: 1,
      maxLength: MAX_LENGTH,
      description: `${destination} What follows a prefix is kept. "$1" stands for the first group of a regular expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.`,
    }),
    ...fields,
  };
  return Type.Array(Type.Object(properties, { additionalProperties: false }), {
    minItems: 1,
    maxItems: MAX_RULES,
    description: `${what}: 1 to ${MAX_RULES}. The first rule that matches decides.`,
  });
}

const TOO_LARGE: FieldProblem = {
  path: '/rules',
  message: 'has regular expressions that are too large together: use fewer or simpler ones',
};

/** The problems of rules as they were sent. */
export function ruleProblems(rules: readonly PathRule[], mayLeave: boolean): readonly FieldProblem[] {
  const patterns = rules.filter(({ match_type: type }) => type === 'regex');
  if (areTooLargeTogether(patterns.map(({ match }) => match))) return [TOO_LARGE];
  const problems: FieldProblem[] = [];
  let total = 0;
  for (const [at, rule] of rules.entries()) {
    const compiled = compileRule(rule, mayLeave);
    if ('problem' in compiled) problems.push({ path: `/rules/${at}/${compiled.field}`, message: compiled.problem });
    else total += compiled.size;
  }
  if (isTooLarge(total)) problems.push(TOO_LARGE);
  return problems;
}

const MAX_LINES = 50;
const MAX_LINE_LENGTH = 2_100;

interface RuleForm {
  /** Name of the module, the key and the flag. */
  readonly name: string;
  readonly order: number;
  /** How a rule is written. */
  readonly usage: string;
  readonly example: string;
  /** What its flag does. */
  readonly what: string;
  /** Reads the words after the first three; a text is the problem. */
  readonly fields: (others: readonly string[]) => JsonObject | string;
}

/** The form of a module with rules for paths: agents write a rule as one line. */
export function ruleAgent({ name, order, usage, example, what, fields }: RuleForm): AgentAccess {
  const description = `${what}: "${usage}", with exact_path, path_prefix or regex as TYPE.`;
  return {
    form: {
      order,
      key: name,
      shape: 'list',
      protocols: ['https', 'http'],
      fields: [
        { name: 'rules', example: `["${example}"]`, isRepeated: true, flag: { name, hint: 'RULE', description } },
      ],
      whenEmpty: `${name} has no rules: write some, or remove it`,
      summary: [`${name} {rules}`],
    },
    schema: ruleLinesSchema,
    accept: (form) => acceptRuleLines(form, usage, fields),
  };
}

/** In the bind message: lines such as "path_prefix /old/ /new/". */
const ruleLinesSchema = Type.Object({
  rules: Type.Array(Type.String({ maxLength: MAX_LINE_LENGTH }), {
    default: [],
    maxItems: MAX_LINES,
    description:
      'Rules, each as TYPE MATCH TO, and of a redirect also STATUS (301, 302, 307 or 308; without one 302). TYPE is exact_path, path_prefix or regex.',
  }),
});

function acceptRuleLines(
  form: JsonObject,
  usage: string,
  fields: (others: readonly string[]) => JsonObject | string,
): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const lines = (form as Static<typeof ruleLinesSchema>).rules;
  const rules: JsonObject[] = [];
  for (const line of lines) {
    const [type = '', match = '', to = '', ...others] = line.trim().split(/ +/);
    if (to === '' || !/^(?:exact_path|path_prefix|regex)$/.test(type))
      return { problem: `write each rule as "${usage}", with exact_path, path_prefix or regex as TYPE` };
    const more = fields(others);
    if (typeof more === 'string') return { problem: more };
    rules.push({ match_type: type, match, to, ...more });
  }
  if (rules.length === 0) return { problem: `has no rules: write them as "${usage}"` };
  return { config: { enabled: true, rules }, records: [] };
}
