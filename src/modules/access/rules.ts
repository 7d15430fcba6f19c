import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { type EmailAddress, emailAddress, isAddressClaim } from '../../kit/text/email-address.ts';
import type { Identity } from '../contract/decides.ts';
import {
  type AllowRule,
  type BearerEntry,
  type DomainMatcher,
  domainMatcher,
  type Rule,
  type RuleSet,
} from './access-config.ts';

/** Stable names, for the API, metrics and the log. */
type DecisionReason = 'allowed' | 'denied' | 'no_rule' | 'no_rules' | 'email_unverified';

export interface Decision {
  readonly allowed: boolean;
  /** The rule that decided, such as `deny[0]`; null when none matched. */
  readonly rule: string | null;
  readonly reason: DecisionReason;
}

/** Decides whether somebody may pass. Pure: the same identity always gets the same decision. */
export type Evaluate = (identity: Identity) => Decision;

/** An identity with what rules read of it. */
interface Subject {
  readonly identity: Identity;
  readonly email: EmailAddress | null;
  readonly claims: ReadClaims;
}

type Condition = (subject: Subject) => boolean;

interface CompiledRule {
  readonly matches: Condition;
  readonly decision: Decision;
}

/** Deny rules come first. Then one allow rule or one bearer entry is needed. */
export function compileRules({ allow, deny, bearer }: RuleSet): Evaluate {
  const inOrder: readonly CompiledRule[] = [
    ...deny.map((rule, at) => compiled(denyCondition(rule), { allowed: false, rule: `deny[${at}]`, reason: 'denied' })),
    ...allow.map((rule, at) =>
      compiled(allowCondition(rule), { allowed: true, rule: `allow[${at}]`, reason: 'allowed' }),
    ),
    ...bearer.map((entry, at) =>
      compiled(bearerCondition(entry), { allowed: true, rule: `bearer[${at}]`, reason: 'allowed' }),
    ),
  ];
  const isEmpty = allow.length === 0 && bearer.length === 0;
  const ifVerified = allow.map((rule) => allowCondition({ ...rule, allow_unverified_email: true }));
  return (identity) => {
    const subject = subjectOf(identity);
    const decides = inOrder.find(({ matches }) => matches(subject));
    if (decides !== undefined) return decides.decision;
    if (isEmpty) return NO_RULES;
    return ifVerified.some((matches) => matches(subject)) ? EMAIL_UNVERIFIED : NO_RULE;
  };
}

const NO_RULES: Decision = { allowed: false, rule: null, reason: 'no_rules' };
const NO_RULE: Decision = { allowed: false, rule: null, reason: 'no_rule' };
const EMAIL_UNVERIFIED: Decision = { allowed: false, rule: null, reason: 'email_unverified' };

function compiled(matches: Condition, decision: Decision): CompiledRule {
  return { matches, decision };
}

function subjectOf(identity: Identity): Subject {
  // The address of a guest is informational: nobody has verified who opened the link.
  const hasEmail = identity.kind === 'user' || identity.kind === 'workload';
  return { identity, email: hasEmail ? emailAddress(identity.email) : null, claims: new ReadClaims(identity) };
}

/**
 * Rules about emails and claims admit people only. The claims of a workload come from another issuer, where a group of
 * the same name means something else: bearer entries admit workloads.
 */
function allowCondition(rule: AllowRule): Condition {
  const isUser: Condition = ({ identity }) => identity.kind === 'user';
  const isVerified: Condition = ({ identity, email }) =>
    email?.isPlain === true && (identity.isEmailVerified || rule.allow_unverified_email === true);
  return allOf([
    ...(rule.claims === undefined ? [] : [isUser, ...claimConditions(rule.claims, false)]),
    ...(rule.emails === undefined && rule.email_domains === undefined ? [] : [isUser, isVerified]),
    ...conditionsOn(rule),
  ]);
}

/** A claim that was too large to keep may have been the one to deny. */
function denyCondition(rule: Rule): Condition {
  return allOf([...(rule.claims === undefined ? [] : claimConditions(rule.claims, true)), ...conditionsOn(rule)]);
}

/** The token's signature, times and issuer were verified before: here its claims decide. */
function bearerCondition({ issuer, audiences, claims }: BearerEntry): Condition {
  return allOf([
    ({ identity }) => identity.kind === 'workload',
    ...claimConditions({ iss: [issuer], aud: audiences }, false),
    ...claimConditions(claims, false),
  ]);
}

function conditionsOn({ emails, email_domains: domains, service_accounts: accounts, guests }: Rule): Condition[] {
  const conditions: Condition[] = [];
  if (emails !== undefined) {
    const wanted = new Set(emails.map((email) => emailAddress(email)?.text));
    conditions.push(({ email }) => email !== null && wanted.has(email.text));
  }
  if (domains !== undefined) {
    const isWanted: DomainMatcher = domainMatcher(domains);
    conditions.push(({ email }) => email !== null && isWanted(email.domain));
  }
  if (accounts !== undefined) {
    const wanted = new Set(accounts);
    conditions.push(({ identity }) => identity.kind === 'service_account' && wanted.has(identity.id));
  }
  if (guests !== undefined) conditions.push(({ identity }) => identity.kind === 'guest');
  return conditions;
}

/**
 * Without names they hold for nobody: beside others they would admit every user, or every token of an issuer. A claim
 * that may have an unverified address cannot be evaluated: the check rejects it, and a record from elsewhere must not
 * admit anybody.
 */
function claimConditions(claims: NonNullable<Rule['claims']>, ifUnknown: boolean): Condition[] {
  if (Object.keys(claims).length === 0) return [() => false];
  return Object.entries(claims).map(([name, values]): Condition => {
    if (isAddressClaim(name, values)) return () => ifUnknown;
    const wanted = values.map(claimText);
    return ({ claims: read }) => {
      const texts = read.texts(name);
      return texts === 'unknown' ? ifUnknown : wanted.some((text) => text !== null && texts.has(text));
    };
  });
}

/**
 * A rule without conditions matches nobody: the check rejects it, and a record from elsewhere must not admit everybody.
 */
function allOf(conditions: readonly Condition[]): Condition {
  return (subject) => conditions.length > 0 && conditions.every((holds) => holds(subject));
}

/** `unknown`: the claim exists and was too large to keep. */
type ClaimTexts = ReadonlySet<string> | 'unknown';

/** The claims of one identity as rules compare them, each read once: a list may have thousands of elements. */
class ReadClaims {
  readonly #identity: Identity;
  readonly #texts = new Map<string, ClaimTexts>();

  constructor(identity: Identity) {
    this.#identity = identity;
  }

  texts(name: string): ClaimTexts {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const read = this.#read(name);
    this.#texts.set(name, read);
    return read;
  }

  #read(name: string): ClaimTexts {
    const { claims, droppedClaims } = this.#identity;
    if (Object.hasOwn(claims, name)) return textsOf(claims[name]);
    const steps = name.split('.');
    if ([name, steps[0] as string, '*'].some((each) => droppedClaims.includes(each))) return 'unknown';
    return textsOf(valueAt(claims, steps));
  }
}

/** The text by which a rule compares a value; null for null, lists, objects and numbers that are too large. */
function claimText(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value;
  // JSON.parse('1e400') is infinite, and its JSON text is "null".
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : null;
}

function textsOf(value: JsonValue | undefined): ReadonlySet<string> {
  const texts = (Array.isArray(value) ? value : [value]).map(claimText);
  return new Set(texts.filter((text) => text !== null));
}

/** Own properties only: `constructor` and `__proto__` are names like others. */
function valueAt(claims: JsonObject, steps: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = claims;
  for (const step of steps) {
    if (!isJsonObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}
