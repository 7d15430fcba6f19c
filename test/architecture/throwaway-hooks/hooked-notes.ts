import { errorTable } from '../../../src/kit/errors.ts';
import { declared, integer } from '../../../src/kit/settings/setting.ts';
import type { SharedPorts, SharedRuntime, SharedState } from '../../../src/modules/contract/keeps-state.ts';

/** State of two modules. */
export class HookedNotes implements SharedState {
  areModulesOpen = false;
  readonly logins: number;
  readonly limit: number;

  /** What it knows of the rest of the program. */
  readonly about: string;

  private constructor(logins: number, limit: number, about: string) {
    this.logins = logins;
    this.limit = limit;
    this.about = about;
  }

  static async open(
    ports: SharedPorts,
    settings: { readonly hooked_notes: number; readonly log_level: string },
  ): Promise<HookedNotes> {
    ports.log.warn({ hooked: true }, 'the notes are open');
    const guessed = { issuer: 'notes', clientAddress: '192.0.2.1', startedIn: '', browser: null };
    const attempt = await ports.attempts.guess(guessed);
    if (!('limit' in attempt)) attempt.unused();
    const about = `${settings.log_level}, ${ports.ownIssuer?.issuer ?? 'no identity host'}`;
    return new HookedNotes((await ports.logins.listEdgeIds()).length, settings.hooked_notes, about);
  }

  modulesOpened(): Promise<void> {
    this.areModulesOpen = true;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Declares everything that a shared runtime can. */
export const hookedNotes: SharedRuntime<HookedNotes> = {
  name: 'hooked_notes',
  settings: { hooked_notes: declared(integer(1, 10), { default: 3, description: 'How many notes there are.' }) },
  readsSettings: ['log_level'],
  recordKinds: ['hooked_shared_note'],
  reservedHeaders: ['x-notes'],
  reservedCookies: ['hooked-notes'],
  ownPaths: ['/.postern/notes'],
  errors: {
    title: 'Traffic: notes',
    rows: errorTable({ ERR_POSTERN_NOTES: { status: 401, explanation: 'The notes name nobody.' } }).rows,
  },
  open: (ports, settings) => HookedNotes.open(ports, settings),
};
