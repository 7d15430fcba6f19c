import type { Document } from '../api/use-pages.ts';
import type { FormValue } from '../components/form/schema-form.tsx';

export interface ModuleViewProps {
  readonly config: Document;
  readonly edgeId: string;
  readonly routeId: string | null;
}

export interface ModulePreviewProps {
  readonly value: FormValue;
  /** Path of the module in the API. */
  readonly path: string;
}
