import type { ListState } from '../../lists/list-state.ts';
import type { DocumentsPort } from '../documents-ports.ts';

/** What the server that answers knows about lists. */
export interface ListPorts {
  readonly documents: Pick<DocumentsPort, 'require'>;
  readonly addressLists: {
    state(id: string): ListState;
    /** Resolves when its source was read, or has failed. */
    refresh(id: string, acceptsSmaller: boolean): Promise<void>;
  };
}
