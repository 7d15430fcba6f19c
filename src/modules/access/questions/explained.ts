import type { Decision } from '../rules.ts';

type Explainable = Omit<Decision, 'reason'> & { readonly reason: Decision['reason'] | 'account_inactive' };

export interface Explanation extends Explainable {
  readonly message: string;
}

/** A decision with a sentence for the operator. */
export function explained(decision: Explainable): Explanation {
  const { allowed, rule, reason } = decision;
  return { allowed, rule, reason, message: sentence(decision) };
}

function sentence({ rule, reason }: Explainable): string {
  switch (reason) {
    case 'allowed':
      return `${rule} lets this account in.`;
    case 'denied':
      return `${rule} denies this account, whatever the other rules say.`;
    case 'email_unverified':
      return 'An allow rule would match if the provider reported the email address as verified. "allow_unverified_email" in the rule accepts it unverified.';
    case 'no_rules':
      return 'There are no allow rules and no bearer entries, so nobody passes.';
    case 'account_inactive':
      return 'The service account is not active.';
    case 'no_rule':
      return 'No allow rule matches.';
  }
}
