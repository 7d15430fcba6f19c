import { OWNERSHIP_KIND } from './ownership-records.ts';

export const MAIL_KIND = 'mail';
export const CONSOLE_SESSION_KIND = 'console_session';

/**
 * Records that are no part of what a change did, although they are written with it. Who applies an object: an undo neither
 * takes it back nor fails because of it. Mails would outlive their links and codes in the history. Sessions of the console
 * that ended do not come back.
 */
export const KINDS_WITHOUT_HISTORY: ReadonlySet<string> = new Set([OWNERSHIP_KIND, MAIL_KIND, CONSOLE_SESSION_KIND]);
