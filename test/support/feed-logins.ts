import type { Store } from '../../src/store/store.ts';
import { type LoginForTest, newLogin } from '../store/conformance/new-login.ts';

/** Stores a login as if a user had returned from their provider. */
export async function feedLogin(store: Store, id: string, login: LoginForTest = {}): Promise<void> {
  await store.logins.recordLogin(newLogin(id, login));
}
