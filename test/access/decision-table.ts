import type { JsonObject } from '../../src/kit/json.ts';
import type { RuleSet } from '../../src/modules/access/access-config.ts';

/** A person as the identity provider describes them. */
export interface Person {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly claims: JsonObject;
}

/** Each differs from the others in one thing that rules look at. */
export const PEOPLE: Readonly<Record<string, Person>> = {
  plain: { email: 'ana@example.com', email_verified: true, claims: {} },
  upper: { email: 'ANA@Example.COM', email_verified: true, claims: {} },
  unverified: { email: 'ana@example.com', email_verified: false, claims: {} },
  unsaid: { email: 'ana@example.com', claims: {} },
  below: { email: 'bo@team.eu.example.com', email_verified: true, claims: {} },
  lookalike: { email: 'eve@notexample.com', email_verified: true, claims: {} },
  suffixed: { email: 'eve@example.com.evil.example', email_verified: true, claims: {} },
  listed: { email: 'a@evil.example,b@example.com', email_verified: true, claims: {} },
  international: { email: 'jo@m\u00fcnchen.example', email_verified: true, claims: {} },
  punycode: { email: 'jo@xn--mnchen-3ya.example', email_verified: true, claims: {} },
  former: { email: 'Former@example.com', email_verified: false, claims: { groups: ['ops'] } },
  no_email: { claims: { groups: ['ops', 'dev'] } },
  text_group: { email: 'ops@partner.example', email_verified: true, claims: { groups: 'ops' } },
  case_group: { email: 'case@partner.example', email_verified: true, claims: { groups: ['OPS'] } },
  nested_list: { email: 'deep@partner.example', email_verified: true, claims: { groups: [['ops']] } },
  nested: { email: 'nest@partner.example', email_verified: true, claims: { realm: { roles: ['ops', 7] } } },
  dotted: { email: 'dot@partner.example', email_verified: true, claims: { 'realm.roles': 'dev' } },
  scalars: { email: 'num@partner.example', email_verified: true, claims: { level: 5, staff: true, empty: null } },
  prototype: {
    email: 'proto@partner.example',
    email_verified: true,
    claims: JSON.parse('{"box":{"constructor":"c","__proto__":"p","toString":{"length":0}}}') as JsonObject,
  },
};

export interface Ruling {
  readonly rules: Partial<RuleSet>;
  /** The people who pass, and the rule that lets them in. Everybody else is refused. */
  readonly passes: Readonly<Record<string, string>>;
  /** The people whom a deny rule refuses. */
  readonly denied?: Readonly<Record<string, string>>;
}

const NOBODY = {};
const EVERYBODY_AT_EXAMPLE = { plain: 'allow[0]', upper: 'allow[0]' };

/** Written by hand: each row of the table is one rule set for one person. */
export const RULINGS: readonly Ruling[] = [
  { rules: { allow: [] }, passes: NOBODY },
  { rules: { allow: [{ email_domains: ['example.com'] }] }, passes: EVERYBODY_AT_EXAMPLE },
  { rules: { allow: [{ email_domains: ['EXAMPLE.com'] }] }, passes: EVERYBODY_AT_EXAMPLE },
  { rules: { allow: [{ email_domains: ['*.example.com'] }] }, passes: { below: 'allow[0]' } },
  {
    rules: { allow: [{ email_domains: ['*.example.com', 'example.com'] }] },
    passes: { ...EVERYBODY_AT_EXAMPLE, below: 'allow[0]' },
  },
  {
    rules: { allow: [{ email_domains: ['example.com'], allow_unverified_email: true }] },
    passes: { ...EVERYBODY_AT_EXAMPLE, unverified: 'allow[0]', unsaid: 'allow[0]', former: 'allow[0]' },
  },
  {
    rules: { allow: [{ email_domains: ['m\u00fcnchen.example'] }] },
    passes: { international: 'allow[0]', punycode: 'allow[0]' },
  },
  {
    rules: { allow: [{ email_domains: ['xn--mnchen-3ya.example'] }] },
    passes: { international: 'allow[0]', punycode: 'allow[0]' },
  },
  { rules: { allow: [{ emails: ['Ana@EXAMPLE.com'] }] }, passes: EVERYBODY_AT_EXAMPLE },
  {
    rules: { allow: [{ emails: ['nobody@example.com'] }, { emails: ['bo@team.eu.example.com', 'x@example.com'] }] },
    passes: { below: 'allow[1]' },
  },
  {
    rules: { allow: [{ claims: { groups: ['ops', 'admin'] } }] },
    passes: { former: 'allow[0]', no_email: 'allow[0]', text_group: 'allow[0]' },
  },
  { rules: { allow: [{ claims: { groups: ['OPS'] } }] }, passes: { case_group: 'allow[0]' } },
  {
    rules: { allow: [{ claims: { groups: ['ops'] }, email_domains: ['partner.example'] }] },
    passes: { text_group: 'allow[0]' },
  },
  { rules: { allow: [{ claims: { 'realm.roles': ['ops'] } }] }, passes: { nested: 'allow[0]' } },
  { rules: { allow: [{ claims: { 'realm.roles': [7] } }] }, passes: { nested: 'allow[0]' } },
  { rules: { allow: [{ claims: { 'realm.roles': ['dev'] } }] }, passes: { dotted: 'allow[0]' } },
  { rules: { allow: [{ claims: { realm: ['ops'] } }] }, passes: NOBODY },
  {
    rules: { allow: [{ claims: { level: ['5'], staff: ['true'] } }, { claims: { level: [5] } }] },
    passes: { scalars: 'allow[0]' },
  },
  { rules: { allow: [{ claims: { level: [5], staff: [false] } }] }, passes: NOBODY },
  { rules: { allow: [{ claims: { empty: ['null', ''] } }] }, passes: NOBODY },
  {
    rules: { allow: [{ claims: { 'groups.length': [1, 2, 3] } }, { claims: { 'constructor.name': ['Object'] } }] },
    passes: NOBODY,
  },
  {
    rules: { allow: [{ claims: { 'box.constructor': ['c'], 'box.__proto__': ['p'] } }] },
    passes: { prototype: 'allow[0]' },
  },
  { rules: { allow: [{ claims: { 'box.toString.length': [0] } }] }, passes: { prototype: 'allow[0]' } },
  {
    rules: { allow: [{ email_domains: ['example.com'] }], deny: [{ emails: ['ana@example.com'] }] },
    passes: NOBODY,
    denied: { plain: 'deny[0]', upper: 'deny[0]', unverified: 'deny[0]', unsaid: 'deny[0]' },
  },
  {
    rules: {
      allow: [{ claims: { groups: ['ops'] } }],
      deny: [{ emails: ['nobody@example.com'] }, { emails: ['former@example.com'] }],
    },
    passes: { no_email: 'allow[0]', text_group: 'allow[0]' },
    denied: { former: 'deny[1]' },
  },
  {
    rules: {
      allow: [{ email_domains: ['*.example', 'example.com'] }],
      deny: [{ claims: { groups: ['ops'] }, email_domains: ['partner.example'] }],
    },
    passes: {
      ...EVERYBODY_AT_EXAMPLE,
      suffixed: 'allow[0]',
      international: 'allow[0]',
      punycode: 'allow[0]',
      case_group: 'allow[0]',
      nested_list: 'allow[0]',
      nested: 'allow[0]',
      dotted: 'allow[0]',
      scalars: 'allow[0]',
      prototype: 'allow[0]',
    },
    denied: { text_group: 'deny[0]' },
  },
];

export interface Row {
  readonly person: string;
  readonly allowed: boolean;
  readonly rule: string | null;
}

/** The rows of one rule set, one for each person. */
export function rowsOf({ passes, denied = {} }: Ruling): readonly Row[] {
  return Object.keys(PEOPLE).map((person) => {
    const allowed = Object.hasOwn(passes, person);
    return { person, allowed, rule: passes[person] ?? denied[person] ?? null };
  });
}
