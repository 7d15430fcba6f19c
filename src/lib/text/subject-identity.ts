import { hash } from 'node:crypto';

/** One user per issuer and subject (OpenID Connect Core §5.7). */
export function subjectIdentity(issuer: string, subject: string): string {
  return hash('sha256', `${issuer}\n${subject}`);
}
