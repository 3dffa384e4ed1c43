/** Shapes of secrets that the kept rules lack: each is proven to be needed (test/activities/secret-rules.test.ts). */

/** What replaces a secret in a text. */
export const redactionMark = '[redacted]';

/** One shape of a secret, and its replacement. */
export interface RedactionRule {
  readonly pattern: RegExp;
  /** Replacement; `$1` is what may stay in front of the secret, `$2` what may stay behind it. */
  readonly replacement: string;
  /** It matches only in a text that has this: spares a slow pattern the search. */
  readonly needs?: string;
  /** It matches only in a text that has a `longWord`. */
  readonly needsLongWord?: true;
}

/** Of the characters of `prefixedTokens`, and a little shorter than the shortest of them: few sentences have such a word. */
export const longWord = /[\w.~/$:=+%,-]{18}/;

const whole = (pattern: RegExp): RedactionRule => ({ pattern, replacement: redactionMark });
const afterPrefix = (pattern: RegExp): RedactionRule => ({
  pattern,
  replacement: `$1${redactionMark}`,
});
const inUrl = (pattern: RegExp): RedactionRule => ({
  pattern,
  replacement: `$1${redactionMark}$2`,
  needs: '://',
});
const insensitive = (pattern: string): RegExp => new RegExp(pattern, 'gi');

/** Private keys in PEM and PGP armor, whole. */
const privateKeys: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----BEGIN)[^]){0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g,
  // The same as base64, as in kubeconfig and Kubernetes secrets, recognized by the first line of the armor.
  /\bLS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}?(?:UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)[A-Za-z0-9+/=]{8,20000}/g,
  /\bAGE-SECRET-KEY-1[0-9A-Z]{40,70}/gi,
  /\bPuTTY-User-Key-File-\d(?:(?!PuTTY-User-Key-File)[^]){0,20000}?Private-MAC: ?[0-9a-f]+/g,
];

const base64 = '[A-Za-z0-9+/=]';
/** Ends of a line, also as JSON writes them. */
const lineEnd = '(?:\\s|\\\\[rn])';
/** What programs put in front of a line: `> `, `12:`, `file:12:`. The `+` of a diff is a letter of the alphabet. */
const inFront = '(?:[>|#*][ \\t]?|\\d{1,6}[:\\t|][ \\t]?|[\\w./-]{1,100}:\\d{1,6}[:-][ \\t]?)?';
const keyLines = `(?:${lineEnd}{1,8}${inFront}${base64}{16,200})`;
/** Lines between the armor and the key: `Proc-Type: 4,ENCRYPTED`, `Version: GnuPG`. */
const armorHeaders = `(?:(?:\\r?\\n|(?:\\\\r)?\\\\n)${inFront}[A-Z][A-Za-z-]{2,20}: [^\\r\\n\\\\]{1,200})`;

/** The same, cut off before the last line or behind the first one, or the first lines of one in DER alone. */
const cutPrivateKeys: readonly RedactionRule[] = [
  afterPrefix(
    new RegExp(
      `(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)${armorHeaders}{0,8}(?:${keyLines}|${base64}{16,200})+`,
      'g',
    ),
  ),
  {
    // Begins where no further line stands in front: every line is read once.
    pattern: new RegExp(
      `(?<=^|[\\s"'\`,(=]|\\\\[rn])(?<!${base64}{16}${lineEnd}{1,8}${inFront})(?:${inFront}${base64}{16,}${lineEnd}{1,8})+(?:${inFront}${base64}{1,200})?${lineEnd}{0,8}(${inFront}-----END [A-Z0-9 ]{0,40}PRIVATE KEY)`,
      'g',
    ),
    replacement: `${redactionMark}$1`,
    needs: '-----END ',
  },
  afterPrefix(new RegExp(`(\\bPrivate-Lines: \\d{1,3})${keyLines}+`, 'g')),
  whole(
    new RegExp(
      `\\bMII[A-Za-z0-9+/]{3}(?:IBAAK[BC][gA]|IBADANBgkqhkiG9w0BAQEFAASC)${base64}{16,200}${keyLines}*`,
      'g',
    ),
  ),
];

/** Tokens that their issuers gave a recognizable prefix, each of at least 19 characters of a `longWord`. */
const prefixedTokens: readonly RegExp[] = [
  // Tokens that the kept rules know whole, cut off by a limit or by a vendor's message.
  /\b(?:gh[pousr]_|github_pat_|gl(?:pat|rt|dt|ptt|cbt|soat)-|npm_|pypi-AgE|AIza|xox[abcdeoprs]-|xapp-\d-|SG\.|do[opr]_v1_|dapi|shp(?:at|ca|pa|ss)_|(?:sk|rk)_(?:live|test|prod)_|sk-ant-)(?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.-]{16,400}/g,
  // Models: Anthropic, OpenAI and compatible servers, OpenRouter, DeepSeek, Google, Groq, xAI, Hugging Face, Replicate, others.
  /\bsk-(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{16,400}/g,
  /\bAQ\.Ab[0-9A-Za-z_-]{30,120}/g,
  /\b(?:gsk|hf|r8|xai|pplx|nvapi|csk|fw|tgp_v1|jina|vck)[_-](?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{20,400}/g,
  /\b(?:tvly|pcsk|lsv2_pt|lsv2_sk|voyage|phc|phx|e2b)[_-][A-Za-z0-9_-]{16,400}/g,
  // Clouds.
  /\bya29\.[0-9A-Za-z_-]{20,1000}/g,
  /\b1\/\/0[0-9A-Za-z_-]{30,200}/g,
  /\bGOCSPX-[0-9A-Za-z_-]{20,60}/g,
  /\b[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,40}/g,
  /\b(?:hvs|hvb|hvr)\.[A-Za-z0-9_-]{20,400}/g,
  /\b(?:sbp|sb_secret|pscale_tkn|pscale_pw|pscale_oauth|napi|neon)_[A-Za-z0-9._-]{20,200}/g,
  // Code hosts, registries, build services.
  /\b(?:dckr_pat|dckr_oat|rubygems|cio|sgp|oy2|CFPAT|ATCTT3xFfG|ATBB|ATATT3)[A-Za-z0-9_=-]{20,400}/g,
  // Chat, mail, payment, shops and others.
  /\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}\b/g,
  /(?<!\d)\d{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])/g,
  /\bkey-[0-9a-f]{32}\b/g,
  /\b[0-9a-f]{32}-us\d{1,2}\b/g,
  /\bwhsec_[A-Za-z0-9+/=]{20,100}/g,
  /\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}/g,
  /\b(?:lin_api|lin_oauth|figd|figo|ntn|secret|PMAK|NRAK|glsa|glc|sntrys|sntryu|tskey|pat-(?:na|eu)\d|dp\.(?:pt|st|ct|sa|scim|audit)|ops|EZAK|EZTK|duffel_live|duffel_test|shippo_live|rnd|railway|re)[._-](?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.=-]{20,600}/g,
  /\bsk_[0-9a-f]{48}\b/g,
  /\bst\.[0-9a-f]{20,30}\.[0-9a-f]{32}\.[0-9a-f]{32}\b/g,
  /\b(?:nf[bcopu]|bk[a-z]{2}|sq[apu]|tfp)_[A-Za-z0-9_-]{36,100}/g,
  /\bCCIP[AR]T_[A-Za-z0-9]{20,30}_[0-9a-f]{40}\b/g,
  /\bAKID[A-Za-z0-9]{32,40}\b/g,
  /\bAQVN[A-Za-z0-9_-]{35,40}(?![A-Za-z0-9_-])/g,
  /\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b/g,
  /\bperm:[A-Za-z0-9=]{8,100}\.[A-Za-z0-9=]{4,100}\.[A-Za-z0-9]{20,100}/g,
  /\baccess_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}\b/g,
  // Hashes of passwords: /etc/shadow, htpasswd, bcrypt, Argon2.
  /\$(?:1|2[abxy]|5|6|7|y|gy|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9=,$+-]{24,400}/g,
  /\bAQE[a-z][A-Za-z0-9+/_=-]{80,300}/g,
  /\bA{20,24}[A-Za-z0-9%]{60,200}/g,
  /\bsl\.(?:u\.)?[A-Za-z0-9_-]{100,1500}/g,
  // Signed tokens: JWT, JWE, PASETO.
  /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,8000}){0,3}/g,
  /\bv[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{20,8000}(?:\.[A-Za-z0-9_-]{1,2000})?/g,
];

/** Ways in which files and protocols write a secret that need the words round it. */
const written: readonly RegExp[] = [
  /(https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/_-]{10,200}/g,
  /(https:\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/)\d+\/[A-Za-z0-9_-]{20,200}/g,
  /(https:\/\/[a-z0-9.-]{1,100}\.webhook\.office\.com\/)[A-Za-z0-9/@_-]{20,400}/g,
  /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?digest\s{1,4})[^\r\n]{4,2000}/gi,
  /(\bSSWS\s{1,4})[A-Za-z0-9_-]{20,100}/g,
  /(\b_auth\s{0,4}[:=]\s{0,4}["']?)[A-Za-z0-9+/]{8,1000}={0,2}/g,
  /(\\{0,3}"(?:auth|identitytoken)\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}")(?=[^"]{0,400}[0-9=])[A-Za-z0-9+/]{16,2000}={0,2}/g,
  /(\b(?:key|name)=\\?["'][\w.-]{0,40}(?:password|passwd|secret|token|apikey|api_key)\\?["']\s{1,8}value=\\?["'])[^"'\r\n\\]{4,400}/gi,
  /((?:key|token|secret|password|passwd|pwd|signature|code)%3d)(?:[A-Za-z0-9_.~-]|%(?!26|3b)[0-9a-f]{2}){8,2000}/gi,
];

/** Secrets recognized by the header or the command in front of them. */
const placed: readonly RegExp[] = [
  /(\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|digest|token|negotiate|ntlm|apikey|api-key|key|hmac|aws4-hmac-sha256)\s{1,4})(?![<{$])(?:[^\r\n"'\\]|\\[^rn\s]){4,4000}/gi,
  /(\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?)(?!this\.)[^\s"'\\,;[\]{}()]{16,4000}/gi,
  /(\b(?:bearer|basic)\s{1,4})(?=[A-Za-z_.~+/-]{0,200}\d)[A-Za-z0-9_.~+/-]{12,4000}={0,2}/gi,
  /(\b(?:set-)?cookie2?["']?\s{0,4}[:=]\s{0,4}\[?["']?)[\w!#$%&*+.^|~-]{1,200}=[^\r\n"']{1,8000}/gi,
  /(\bcurl\b[^\r\n]{0,400}?\s(?:-u|--user)[ =]?["']?[^\s:"']{1,100}:)[^\s"']{1,200}/g,
];

/** Users and passwords in URLs. */
const urls: readonly RegExp[] = [
  // Also a password of digits, where the scheme tells that it is no port with a path behind it.
  /(\b(?:amqps?|rediss?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|s?ftps?|smtps?|ldaps?|imaps?):\/\/)[^\s/@"'<>:[\]()$]{0,100}:(?!pass(?:word)?@)[^\s"'<>`@]{1,200}(@[A-Za-z0-9.-])/gi,
  /(\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@"'<>:[\]()$]{0,256}:(?!pass(?:word)?@|\d{1,5}(?:[/\s"'?#]|$))[^\s"'<>`]{1,512}(@[^\s@/"'<>`])/gi,
  /(\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@"'<>:[\]()$]{16,512}(@[a-z0-9.-])/gi,
];

/** A name whose value is a secret, in files that list names and values separately. */
const nameEnd =
  '(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|[_-]pass)[\\w.-]{0,20}';
const named = `[\\w.-]{0,60}${nameEnd}`;

/** What was made by a machine, or by a person as a password: letters and digits. */
const mixed = '(?=[^\\s"\'`<|,;]{0,200}\\d)(?=[^\\s"\'`<|,;]{0,200}[A-Za-z])';

/** Names and values that a program or a format keeps apart. */
const apart: readonly RegExp[] = [
  // ?token=…
  /([?&#;](?:[a-z0-9_.-]{0,40}[_.-])?(?:key|apikey|api-key|token|accesstoken|auth|sig|signature|credential|secret|password|passwd|pwd|jwt|sid|session|sessionid|code|assertion)=)(?!=|value\b|\w,\w|\$\{[\w.]{1,60}\}(?![^&\s"'#<>`;[\]]))[^&\s"'#<>`;[\]]{4,8000}/gi,
  // Docker and Kubernetes: {"name": "DB_PASSWORD", "value": "…"}, the same in YAML.
  insensitive(
    `((?:\\bname|\\bkey)\\\\{0,3}["']?\\s{0,4}[:=]\\s{0,4}\\\\{0,3}["']?${named}\\\\{0,3}["']?\\s{0,4},?\\s{0,20}\\\\{0,3}["']?val(?:ue)?\\\\{0,3}["']?\\s{0,4}[:=]\\s{0,4}\\\\{0,3}["']?)[^\\s"',}\\\\]{4,400}`,
  ),
  // <password>…</password>, <input type="password" value="…">
  insensitive(`(<${named}>)${mixed}[^<\\s]{4,400}(?=</)`),
  /(<input\b[^>]{0,200}\btype=["']?password\b[^>]{0,200}\bvalue=["'])[^"']{3,200}/gi,
  // | DB_PASSWORD | … |
  insensitive(`(\\|[ \\t]{0,20}${named}[ \\t]{0,20}\\|[ \\t]{0,20})${mixed}[^\\s|]{8,400}`),
  // ['x-api-key', '…'] as Node gives raw headers
  /(["'](?:x-[\w-]{0,30}(?:key|token|secret|auth)|api-key|apikey|cookie)["']\s{0,4},\s{0,4}["'])(?=[^"'\r\n]{0,200}\d)[^"'\r\n]{6,4000}/gi,
  /(\bauth\s{0,4}=\s{0,4}\(\s{0,4}["'][^"'\r\n]{1,80}["']\s{0,4},\s{0,4}["'])[^"'\r\n]{3,200}/g,
  // sshpass -p …, mysql -p…
  /(\bsshpass\s{1,4}-p\s{0,4}["']?)[^\s"']{3,200}/g,
  /(\bmysql(?:dump|admin)?\b[^\r\n|;&]{0,200}?\s-p["']?)[^\s"'-][^\s"']{2,200}/g,
  // password: >-⏎  …
  insensitive(
    `(${nameEnd}["']?\\s{0,4}:\\s{0,4}[|>][-+]?[ \\t]{0,4}\\n[ \\t]{1,20})${mixed}\\S{6,400}`,
  ),
  // "pass": "…", and "the password is …"
  insensitive(`(["']pass\\\\{0,3}["']\\s{0,4}:\\s{0,4}\\\\{0,3}["'])${mixed}[^"'\\s\\\\]{8,200}`),
  insensitive(
    `(\\b(?:password|passphrase|api key|secret key)\\b(?: (?:for|of) [\\w@.-]{1,60})?(?: (?:is|was)|:)\\s{1,4}["'\`]?)(?!\\w{1,60}\\[)${mixed}[^\\s"'\`.,;)]{8,200}`,
  ),
  // Words that open a wallet.
  /(\b(?:mnemonic|(?:seed|recovery)[ _-]?phrase)["']?\s{0,4}[:=]\s{0,4}["']?)(?:[a-z]{3,8}[ ,]{1,3}){11,23}[a-z]{3,8}/gi,
];

const secretNames =
  '(?:password|passwd|passphrase|pwd|secret|token(?!s)|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|account[_-]?key|signing[_-]?key|encryption[_-]?key|shared[_-]?access[_-]?(?:key|signature)|client[_-]?secret|auth[_-]?key|master[_-]?key|service[_-]?key|credentials?|session[_-]?id|connection[_-]?string|(?<!single|one|two|multi)[_-]pass(?![a-z]))';

/** The rest of such a name; not one that says where a secret is, or of what kind. */
const suffix =
  '(?![\\w-]{0,24}(?:endpoint|_?ur[il]|path|type|name|field|header|file)s?\\b)[\\w-]{0,20}';

/** A value that is code or a place-holder and no secret: a call, a type, a reference, a template, the name of a field. */
const noSecret =
  '(?!\\[redacted\\]|[a-z_-]{0,30}(?:token|key|secret|password|credentials?)\\b(?![\\w.-])|(?:big)?u?int\\d{1,3}\\w{0,8}\\b|\\w{1,60}\\$\\d|\\w\\.[a-z]|\\[a-z|urn:|__\\w{1,60}__|\\d{1,7}\\b|\\$|<|\\{|%|process\\.|os\\.|env[.[(]|import\\.|(?:null|undefined|none|void|true|false|string|number|boolean|unknown|required|optional|missing|invalid|expired)\\b)';

/** Ways of databases, shells and programs to write a password beside what it is for. */
const programs: readonly RegExp[] = [
  // .pgpass: host:port:database:user:password
  insensitive(
    `((?<![\\w.-])(?:[\\w.-]{1,100}|\\*):(?:\\d{4,5}|\\*):(?:[\\w-]{1,60}|\\*):[\\w.@-]{1,60}:)${mixed}[^\\s:"']{8,200}`,
  ),
  // .netrc, also over several lines
  /(\bmachine\s{1,8}[\w.-]{1,200}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8})\S{3,200}/gi,
  /(\bjdbc:oracle:\w{2,6}:\w{1,60}\/)[^\s@"']{3,200}(?=@)/gi,
  // The secret of a key pair beside its id.
  /(\[redacted\][,:;|\t ]{1,4}["']?)(?=[A-Za-z/+]{0,40}\d)[A-Za-z0-9/+]{36,44}(?![A-Za-z0-9/+=])/g,
  /(\b(?:identified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by|password)\s{1,4}(?:as\s{1,4})?')[^'\s]{4,200}(?=')/gi,
  insensitive(
    `(\\bvariable\\s{1,4}"${named}"\\s{0,4}\\{[^{}]{0,300}?\\bdefault\\s{0,8}=\\s{0,8}")[^"\\r\\n]{4,400}`,
  ),
  // A pass phrase of words, alone in its line.
  /(^[ \t-]{0,40}(?:\w{0,20}_)?(?:password|passwd|passphrase|pwd): {1,4})(?:[a-z]{20,100}|[a-z]{3,20}(?:-[a-z]{3,20}){2,10})$/gm,
  // echo … | sudo -S, … | docker login --password-stdin
  /(\becho\s{1,4}(?:-n\s{1,4})?["']?)[^\s"'|]{4,200}(?=["']?\s{0,4}\|\s{0,4}(?:sudo\s(?:[^\n|]{0,40}\s)?-S\b|[^\n|]{1,100}\s--password-stdin\b))/g,
  insensitive(
    `(\\b(?:x-auth(?:-[a-z-]{1,30})?|ocp-apim-subscription-key)["']?\\s{0,4}[:=]\\s{0,4}["']?)${mixed}[^\\s"',;]{8,400}`,
  ),
  // define('DB_PASSWORD', '…')
  /(\bdefine\(\s{0,4}["']\w{0,40}(?:password|passwd|secret|token|_key|_salt|_pass)["']\s{0,4},\s{0,4}["'])[^"'\r\n]{4,400}/gi,
  // {"password": ["…"]}, {"password": {"value": "…"}}
  insensitive(
    `(["']${named}["']\\s{0,4}:\\s{0,4}[[{]\\s{0,20}(?:["']\\w{1,20}["']\\s{0,4}:\\s{0,4}(?:[[{]\\s{0,20})?){0,3}["'])${mixed}[^"'\\s]{8,400}`,
  ),
  // ["DB_PASSWORD", "…"]
  /(["'][A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY)["']\s{0,4},\s{0,4}["'])(?=[^"'\s]{0,200}\d)(?=[^"'\s]{0,200}[a-z])[^"'\s]{8,400}/g,
  /(\b(?:totp|otp|2fa|mfa)[ _-]?(?:seed|secret|key)?["']?\s{0,4}[:=]\s{0,4}["']?)[A-Z2-7]{16,64}\b/gi,
  /(\b(?:psk|wpa_passphrase|wpa_psk)\s{0,4}=\s{0,4}["']?)[^\s"'\\{}]{8,63}/gi,
  // https%3A%2F%2Fuser%3A…%40host
  /(%3A%2F%2F[A-Za-z0-9._-]{0,60}%3A)[A-Za-z0-9._~%-]{3,200}?(?=%40)/gi,
];

/** Values of names that hold secrets: in JSON, YAML, env files, connection strings and code with quoted literals. */
const namedValues: readonly RegExp[] = [
  // "apiKey": "…", password = '…': the value is quoted, so it is a literal.
  insensitive(
    `(${secretNames}${suffix}\\\\{0,15}["']?\\]?\\s{0,4}(?::|=|=>|:=)\\s{0,4}(?:\\\\{0,15}["'\`]))${noSecret}(?=[^\\s"'\`\\\\]{0,200}[^a-z\\s"'\`\\\\]|[^\\s"'\`\\\\]{12})[^\\s"'\`\\\\]{4,4000}`,
  ),
  // DB_PASSWORD=…, Password=…;, --token=…: no blank round the sign and no code behind it.
  insensitive(`(${secretNames}${suffix}=)${noSecret}(?!["'\`=(])[^\\s"'\`;,&()]{4,4000}`),
  // password: …, --token …: unquoted, so only values that look made by a machine.
  insensitive(
    `(${secretNames}${suffix}["']?(?:\\s{0,4}[:=]\\s{0,4}|\\s{1,4}))${noSecret}(?=[^\\s"'\`;,()[\\]{}<>]{0,200}\\d)(?=[^\\s"'\`;,()[\\]{}<>]{0,200}[A-Za-z])(?![\\w$]{1,100}(?:\\.\\w|\\())[^\\s"'\`;,()[\\]{}<>]{8,4000}`,
  ),
];

/** All own rules, in the order in which they are applied. */
const rules: readonly RedactionRule[] = [
  ...privateKeys.map(whole),
  ...cutPrivateKeys,
  ...prefixedTokens.map((pattern) => ({ ...whole(pattern), needsLongWord: true as const })),
  ...[...written, ...placed].map(afterPrefix),
  ...urls.map(inUrl),
  ...[...apart, ...programs, ...namedValues].map(afterPrefix),
];

/** The rules, in their order. A function, since the sandbox freezes what shared code exports, and a frozen pattern cannot replace. */
export const ownSecretRules = (): readonly RedactionRule[] => rules;
