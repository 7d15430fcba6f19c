import type { ComponentType } from 'preact';
import type { FormValue } from '../components/form/schema-form.tsx';
import { AccessPreview } from './access/access-preview.tsx';
import { AccessView } from './access/access-view.tsx';
import { BackendView } from './backend/backend-view.tsx';
import { BASIC_AUTH_BEGINNING, BasicAuthView } from './basic_auth/basic-auth-view.tsx';
import type { ModulePreviewProps, ModuleViewProps } from './module-view.ts';
import { OidcView } from './oidc/oidc-view.tsx';
import { PathRulesView } from './path_rules/path-rules-view.tsx';
import { RateLimitView } from './rate_limit/rate-limit-view.tsx';

/** Shown below the form while a module is edited. */
export const MODULE_PREVIEWS: Readonly<Record<string, ComponentType<ModulePreviewProps>>> = {
  access: AccessPreview,
};

/** Modules with a view of their own. All others are shown field by field. */
export const MODULE_VIEWS: Readonly<Record<string, ComponentType<ModuleViewProps>>> = {
  oidc: OidcView,
  access: AccessView,
  backend: BackendView,
  rate_limit: RateLimitView,
  redirect: PathRulesView,
  rewrite: PathRulesView,
  basic_auth: BasicAuthView,
};

/** What a new module needs first is in its form already. */
export const MODULE_BEGINNINGS: Readonly<Record<string, FormValue>> = {
  basic_auth: BASIC_AUTH_BEGINNING,
};
