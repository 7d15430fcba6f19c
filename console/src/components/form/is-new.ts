import { createContext } from 'preact';

/** Whether the form makes something new: there is no stored value to keep, and everything can be chosen. */
export const IsNew = createContext(false);
