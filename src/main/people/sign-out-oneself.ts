import { OPERATOR_REQUEST } from '../../bootstrap/bootstrap-port.ts';
import type { OperationPorts } from '../../documents/operations.ts';
import type { Person } from '../../identity/contracts.ts';
import { PosternError } from '../../lib/errors.ts';
import type { Operation } from '../../resources/operation.ts';

interface SignOutPorts {
  readonly issuer: string;
  readonly operations: readonly Operation<OperationPorts>[];
  readonly ports: OperationPorts;
}

/** The API's own operation, by wish of the person, whom the history names. */
export async function signOutOneself(
  { id, email }: Pick<Person, 'id' | 'email'>,
  { issuer, operations, ports }: SignOutPorts,
): Promise<void> {
  const signOut = operations.find(({ resource, verb }) => resource === 'user_accounts' && verb === 'sign_out');
  if (signOut === undefined) throw new Error('people cannot be logged out');
  const principal = { ...OPERATOR_REQUEST.principal, person: email, identity: { issuer, subject: id } };
  try {
    await signOut.run({ ...OPERATOR_REQUEST, principal, params: { id }, body: {} }, ports);
  } catch (error) {
    // Somebody deleted the account meanwhile, and its logins with it.
    if (!(error instanceof PosternError && error.code === 'ERR_POSTERN_NOT_FOUND')) throw error;
  }
}
