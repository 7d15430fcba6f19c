/** A message to one person. */
export interface PersonalMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** It is not sent after this time. */
  readonly expiresAtMs: number;
}

/** The queue of outgoing mail; it is in the store, so that any node sends what another accepted. */
export interface IdentityMail {
  /** False: no server for mail is set, or the queue is full. */
  enqueue(mail: PersonalMail): Promise<boolean>;
}
