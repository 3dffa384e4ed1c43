/** Takes out of a vendor's text what names the customer: ids of organizations, projects, workspaces and users, addresses. */
import { redactionMark } from '../../../workflows/core/secrets/own-secret-rules';

/** An id made by a machine: it has a digit. */
const madeId = '(?=[A-Za-z_-]{0,80}\\d)[\\w-]{5,100}';

/** Words for whoever a vendor's bill goes to. */
const customers =
  'organi[sz]ation|org|team|workspace|account|tenant|subscription|customer|project|user|member|client';

/** Each with what may stay in front. Source: bodies of the vendors in `test/providers/fixtures/vendor-refusals.jsonl`. */
const patterns: readonly RegExp[] = [
  // OpenAI, Moonshot, Anthropic, Stripe-like: org-…, proj_…, user-…, ak-…, wrkspc_…, acct_…
  /()\bproj_[A-Za-z0-9]{1,100}/g,
  /()\b(?:org|proj|user|acct|wrkspc|ak)[-_](?=[A-Za-z]{0,100}[0-9A-Z])[A-Za-z0-9]{4,100}(?![\w-])/g,
  /(\b(?:organi[sz]ation|account|project)[\s:<('"`]{1,4})(?:org|proj)[-_][\w-]{1,100}/gi,
  // "organization (0dccdde6-…)", "team 16f2151a-…", "account 4631789129646741", "project number: 720070608347"
  new RegExp(`(\\b(?:${customers})(?:[ _-]?(?:id|number))?[\\s:=<('"\`]{1,4})${madeId}`, 'gi'),
  // Fireworks: "Account acme is suspended".
  /(\b(?:account|organi[sz]ation|team) )[\w.-]{1,100}(?= is (?:suspended|disabled|restricted|not active))/gi,
  /(\bmember of (?:the )?(?:organi[sz]ation|team|workspace|project) )[^\s,;]{1,100}/gi,
  // A UUID, unless it is the request's: people need that one for the vendor's support.
  /((?<!(?:request|trace|correlation|req)[ _-]?(?:id)?["':=\s(]{1,4}))(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\w-])/gi,
  // AWS: an ARN from the account's number on.
  /(\barn:[\w-]{1,40}:[\w-]{0,60}:[\w-]{0,60}:)\d{1,20}:[^\s"'`,)]{1,400}/g,
  // Azure: what stands behind a subscription. Google: a project by its name.
  /(\/subscriptions\/)[^\s"'`?#]{1,400}/gi,
  /(\bprojects\/)[^\s"'`/?#]{1,100}/gi,
  /(\bresource project \[?)[\w-]{1,100}/gi,
  // Mail addresses, service accounts among them.
  /()(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}/g,
  // What a URL asks for: keys, project numbers, sessions.
  /(\bhttps?:\/\/[^\s?#"'`<>]{1,400}\?)[^\s"'`<>]{1,2000}/gi,
];

/** The text without what names the customer. Contract: pure; never throws; doing it twice changes nothing more. */
export function withoutAccountIds(text: string): string {
  return patterns.reduce((clean, pattern) => clean.replace(pattern, `$1${redactionMark}`), text);
}
