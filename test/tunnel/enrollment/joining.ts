import { randomBytes } from 'node:crypto';
import { type EnrollOptions, type Enrolment, enroll } from '../../../src/tunnel/agent/enroll.ts';
import { type Invitation, readInvitationLine } from '../../../src/tunnel/protocol/invitation-line.ts';

export function newToken(): string {
  return `postern_cr_${randomBytes(32).toString('base64url')}`;
}

export function invitationIn(line: string): Invitation {
  const reading = readInvitationLine(line);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.invitation;
}

/** Joins as `postern agent join` does. */
export function joinWith(line: string, options: Partial<EnrollOptions> = {}): Promise<Enrolment> {
  return enroll({ invitation: invitationIn(line), token: newToken(), name: 'build-1', ...options });
}

/** The code of the refusal; `joined` if there is none. */
export async function outcomeOf(joining: Promise<unknown>): Promise<string> {
  return joining.then(
    () => 'joined',
    (error: Error & { readonly code?: string }) => error.code ?? String(error),
  );
}
