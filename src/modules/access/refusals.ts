import type { Refusal } from '../contract/decides.ts';
import type { Identity } from '../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { loginUrl, targetToKeep } from '../login/flow/return-target.ts';
import { tokenForbidden } from './programs/token-refusals.ts';
import type { Decision } from './rules.ts';

export const LOGIN_NEEDED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ACCESS_LOGIN_NEEDED',
  title: 'There is no login here',
  message:
    'This site lets in programs with a token and guests with a link. It has no login for people. If you need access, contact the operator of this site.',
  reason: 'login_needed',
  accessRule: null,
};

/** For somebody whom the rules do not let in. The rule itself is for the operator: it is in the log. */
export function accessDenied(identity: Identity, decision: Decision, request: TrafficRequest): Refusal {
  if (identity.kind === 'service_account' || identity.kind === 'workload') {
    return tokenForbidden(request, identity, decision);
  }
  const { reason, rule } = decision;
  const account = accountName(identity);
  const common = {
    status: 403,
    code: 'ERR_POSTERN_ACCESS_DENIED',
    reason,
    accessRule: rule,
    details: { reason, account, kind: identity.kind },
  } as const;
  if (identity.kind === 'guest') return { ...common, message: `The guest ${account} may not enter here.` };
  return {
    ...common,
    title: 'This account may not enter',
    message: `You are logged in as ${account}. ${ADVICE[reason] ?? ''}Switch to another account, or ask the operator of this site for access.`,
    action: { label: 'Switch account', href: switchUrl(request) },
  };
}

/** The login page, which returns to the requested one: a form that was sent is not repeated. */
function switchUrl({ method, target, path }: TrafficRequest): string {
  return loginUrl(method === 'GET' ? targetToKeep(target, path) : '/', { isSwitch: true });
}

const ADVICE: Partial<Record<Decision['reason'], string>> = {
  email_unverified: 'Your identity provider does not report your email address as verified. Verify it there. ',
};

function accountName({ email, name, id }: Identity): string {
  if (email !== '') return email;
  return name === '' ? id : name;
}
