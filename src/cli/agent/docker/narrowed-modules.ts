import type { EndpointModules } from '../../../tunnel/messages.ts';
import type { ContainerLabels } from './container-labels.ts';

/** What the agent's file allows, as a tunnel requests it. */
export interface Allowed {
  /** Modules that every container has. */
  readonly modules: EndpointModules;
  /** Empty: no rule. */
  readonly allowGroups: readonly string[];
  readonly allowEmails: readonly string[];
  readonly allowPublic: boolean;
}

/** Modules that make visitors log in. The first stands for the identity host of the server. */
const LOGINS = ['oidc', 'oauth', 'basic_auth'] as const;
const LOGIN_AT_IDENTITY_HOST = {};

type Asked = Pick<ContainerLabels, 'login' | 'allowGroups' | 'allowEmails'>;

/**
 * The modules of a container's address: those of the file, and what the labels add. Labels let in fewer people than the
 * file, or the same, or they are rejected.
 */
export function narrowedModules(
  { login, allowGroups, allowEmails }: Asked,
  { modules, allowGroups: groups, allowEmails: emails, allowPublic }: Allowed,
): EndpointModules | { readonly reason: string } {
  const hasLists = groups.length + emails.length > 0;
  const isLoginGiven = hasLists || LOGINS.some((name) => modules[name] !== undefined);
  if (login === false && isLoginGiven) {
    return { reason: 'postern.login=false is rejected: docker.defaults of the agent require a login' };
  }
  const isNarrowed = allowGroups !== null || allowEmails !== null;
  if (hasLists && isNarrowed) {
    const more = [
      ...(allowGroups ?? []).filter((group) => !groups.includes(group)),
      ...(allowEmails ?? []).filter((email) => !emails.some((each) => each.toLowerCase() === email)),
    ];
    if (more.length > 0) {
      const list = more
        .slice(0, 5)
        .map((each) => JSON.stringify(each))
        .join(', ');
      return { reason: `the labels let in ${list}, whom docker.defaults of the agent do not let in` };
    }
  }
  const hasLogin = isLoginGiven || login === true || isNarrowed;
  if (!hasLogin && !allowPublic) {
    return {
      reason:
        'it would be public: set postern.login=true, or let the operator of the agent set docker.defaults.allow_public',
    };
  }
  const access = {
    ...listField('allow_groups', isNarrowed ? (allowGroups ?? []) : groups),
    ...listField('allow_emails', isNarrowed ? (allowEmails ?? []) : emails),
  };
  const needsLogin = hasLogin && LOGINS.every((name) => modules[name] === undefined);
  return {
    ...modules,
    ...(needsLogin && { [LOGINS[0]]: LOGIN_AT_IDENTITY_HOST }),
    ...(Object.keys(access).length > 0 && { access }),
  };
}

function listField(name: string, items: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return items.length === 0 ? {} : { [name]: [...items] };
}
