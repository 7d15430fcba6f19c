import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { rootFirst } from '../edges/edge-tree.tsx';

/** Who may enter a site, by the modules of its routes. */
export interface Entry {
  readonly text: string;
  readonly isOpen: boolean;
  /** Some paths have other rules than the one that the text is about. */
  readonly differs: boolean;
}

export function entryOf(edge: Document): Entry {
  const texts = rootFirst(edge).map((route) => routeEntry(edge, route));
  const [text = ''] = texts;
  const isOpen = text === '';
  return { text: isOpen && texts.length > 0 ? 'everybody' : text, isOpen, differs: new Set(texts).size > 1 };
}

/** Empty: everybody. */
function routeEntry(edge: Document, route: Document): string {
  const ways = [...peopleOf(route), ...programsOf(route)];
  const limits = [
    ...(enabled(route, 'ip_restriction') === null ? [] : ['from listed addresses']),
    ...(enabled(route, 'basic_auth') === null ? [] : ['with a password']),
    ...(enabled(edge, 'mutual_tls') === null ? [] : ['with a client certificate']),
  ];
  if (ways.length === 0) return limits.length === 0 ? '' : `everybody ${limits.join(' and ')}`;
  return [ways.join(', or '), ...limits].join(', ');
}

function peopleOf(route: Document): readonly string[] {
  const login = loginText(route);
  const rules = rulesOf(route, 'allow');
  if (rules === null) return login === null ? [] : [`everybody who logs in ${login}`];
  const named = rules.map(ruleText).filter((text) => text !== '');
  return named.length === 0 ? [`everybody who logs in ${login ?? ''}`.trim()] : named;
}

function programsOf(route: Document): readonly string[] {
  return (rulesOf(route, 'bearer') ?? []).length > 0 ? ['programs with a token'] : [];
}

function loginText(route: Document): string | null {
  const oidc = enabled(route, 'oidc');
  if (oidc !== null) {
    const issuer = textAt(oidc, 'issuer');
    return issuer === session.value?.identity_issuer ? 'here' : `at ${issuer.replace(/^https:\/\//, '')}`;
  }
  const oauth = enabled(route, 'oauth');
  if (oauth === null) return null;
  const provider = Object.entries((oauth['provider'] ?? {}) as Document).find(([, value]) => value !== null)?.[0];
  return `at ${provider ?? 'a provider'}`;
}

type Rule = Readonly<Record<string, unknown>>;

/** Null: no rules are in effect. */
function rulesOf(route: Document, name: string): readonly Rule[] | null {
  const access = enabled(route, 'access');
  if (access === null || access['enforce'] === false) return null;
  return Array.isArray(access[name]) ? (access[name] as Rule[]) : [];
}

function ruleText(rule: Rule): string {
  const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
  const claims = Object.entries((rule['claims'] ?? {}) as Record<string, unknown>).map(([name, values]) =>
    name === 'groups' ? `group ${list(values).join(' or ')}` : `${name} ${list(values).join(' or ')}`,
  );
  const parts = [
    ...(rule['guests'] === true ? ['guests with a link'] : []),
    ...(list(rule['emails']).length > 0 ? [list(rule['emails']).join(', ')] : []),
    ...(list(rule['email_domains']).length > 0 ? [`@${list(rule['email_domains']).join(', @')}`] : []),
    ...claims,
    ...(rule['service_accounts'] === undefined ? [] : ['service accounts']),
  ];
  return parts.join(' and ');
}

function enabled(document: Document, module: string): Document | null {
  const config = document[module] as Document | null | undefined;
  return config && config['enabled'] !== false ? config : null;
}
