/** The moments of a handover at which a process may end. */
export const HANDOVER_STEPS = ['loading', 'accepting agents', 'awaiting agents', 'serving', 'after serving'] as const;
export type HandoverStep = (typeof HANDOVER_STEPS)[number];
