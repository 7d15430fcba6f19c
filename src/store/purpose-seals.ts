import type { Keyring } from './keyring.ts';
import type { Store } from './store.ts';

/** What modules and nodes seal and sign for themselves, each bound to its purpose. */
export function purposeSeals(keyring: Keyring): Pick<Store, 'mac' | 'seal' | 'open'> {
  return {
    mac: (purpose, data) => keyring.mac(purpose, data),
    seal: (purpose, text) => keyring.seal(text, `purpose/${purpose}`),
    open: (purpose, sealed) => {
      try {
        return keyring.open(sealed, `purpose/${purpose}`);
      } catch {
        return null;
      }
    },
  };
}
