"""The texts on which backends are compared: short and long, many scripts, code, noise. The same list on every run."""

import random

EDGES = [
    "",
    " ",
    "\n\t ",
    "a",
    "I",
    "?",
    "...",
    "0",
    "[MASK]",
    "[CLS] [SEP]",
    "a\u0000b",
    "\u200b",
    "x" * 150,
    "-" * 400,
]

WORDS = [
    "coffee",
    "Amsterdam",
    "deadline",
    "regret",
    "photosynthesis",
    "Tuesday",
    "42",
    "rm",
    "naïve",
    "Zürich",
    "e-mail",
]

SENTENCES = [
    "Alice prefers tea to coffee, but only before noon.",
    "The quarterly report is due on the last Friday of March.",
    "Never restart the database while a migration is running.",
    "When the user says 'later', ask for a date.",
    "Her sister moved to Lisbon in 2019 and works as a nurse.",
    "Bob's flight UA 1182 lands at 06:45 on 3 May.",
    "The dentist appointment was moved from Monday to Thursday.",
    "He said he'd never eat oysters again after what happened in Brittany.",
    "Use metric units unless asked otherwise.",
    "The cat is called Schrödinger, which everybody finds less funny than its owner.",
    "What did Caroline say about the adoption agency?",
    "When did Melanie paint the sunrise?",
    "Who is allergic to peanuts?",
    "How long has she been in the choir?",
    "Which restaurant did they choose for the anniversary?",
    "I can't find my keys anywhere!!!",
    "ok",
    "Thanks, that's exactly what I needed :)",
    "The invoice of 1,249.50 EUR is overdue by 14 days.",
    "Temperature rose from -3.5 °C to 12 °C within six hours.",
    "Contact: jane.doe@example.com, +44 20 7946 0958, https://example.com/a?b=c#d",
    "THIS IS URGENT, PLEASE CALL BACK BEFORE NOON",
    "the quick brown fox jumps over the lazy dog",
    "She sells sea shells by the sea shore; the shells she sells are sea shells, I'm sure.",
    "It is not that he disliked music, only that he disliked being asked about it.",
    "Remember: the spare key is under the third flower pot on the left.",
    "A group of llamas is called a herd.",
    "Vitamin D deficiency was found in the blood test of 12 January.",
    "The password must never be stored in plain text.",
    "My favourite colour changed from green to blue last year.",
    "Two eggs, 200 g of flour, a pinch of salt, 300 ml of milk; rest for half an hour.",
    "Turn left at the church, then follow the river for two kilometres.",
    "The train was so late that we walked.",
    "Do androids dream of electric sheep?",
    "Nothing is decided until the board has met.",
    "They adopted a three-legged dog named Tripod.",
    "On 2024-02-29 the backup failed because nobody had thought of leap days.",
    "Her handwriting is legible only to pharmacists.",
    "The meeting was moved from room 4.12 to room 4.21, which confused everybody.",
    "If the build fails twice, ask Priya.",
]

OTHER_SCRIPTS = [
    "Привет, как дела?",
    "Мама мыла раму, а папа читал газету.",
    "Встреча перенесена на четверг, 15:30.",
    "Київ — столиця України.",
    "Где ближайшая станция метро?",
    "今日は天気がいいから散歩しましょう。",
    "会議は来週の火曜日に延期されました。",
    "我喜欢喝绿茶，不喜欢喝咖啡。",
    "请在三月底之前提交报告。",
    "東京タワーの高さは三百三十三メートルです。",
    "안녕하세요, 만나서 반갑습니다.",
    "내일 아침 여덟 시에 깨워 주세요.",
    "مرحبا، كيف حالك اليوم؟",
    "اجتماعنا يوم الأحد في المكتبة.",
    "שלום עולם, מה שלומך?",
    "नमस्ते, आप कैसे हैं?",
    "சென்னையில் இன்று மழை பெய்கிறது.",
    "สวัสดีครับ วันนี้อากาศดีมาก",
    "Γειά σου Κόσμε, τι κάνεις;",
    "Xin chào, hôm nay bạn thế nào?",
    "Zażółć gęślą jaźń.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Falsches Üben von Xylophonmusik quält jeden größeren Zwerg.",
    "L'été dernier, nous avons mangé des crêpes à Saint-Malo.",
    "El niño comió piñas mañana y tarde; ¿y tú?",
    "Ğüşiöç harfleri Türkçede sık kullanılır.",
    "Þetta er íslenskur texti með ð og æ.",
    "გამარჯობა მსოფლიო",
    "Բարեւ աշխարհ",
    "Sveiki, kā jums klājas?",
]

SYMBOLS = [
    "😀",
    "🎉🎂🥳 happy birthday!!!",
    "👩‍👩‍👧‍👦 family dinner at 7 🍝",
    "❤️",
    "🇳🇱🇫🇷🇯🇵",
    "👍🏽",
    "¯\\_(ツ)_/¯",
    "→ ← ↑ ↓ ∞ ≠ ≤ ∑∫√",
    "½ + ¼ = ¾",
    "H₂O and E=mc²",
    "•••",
    "№ 5 ™ © ® € £ ¥",
]

CODE = [
    "def add(a, b):\n    return a + b",
    "SELECT id, name FROM users WHERE age > 30 ORDER BY name LIMIT 10;",
    "for (int i = 0; i < n; ++i) { sum += a[i]; }",
    "git rebase -i HEAD~3 && git push --force-with-lease",
    '{"name": "Alice", "tags": ["vip", "eu"], "age": 42}',
    '<div class="card"><p>Hello</p></div>',
    "async with pool.acquire() as conn:\n    await conn.execute('VACUUM')",
    "curl -s https://example.com/api/v1/items | jq '.[0].id'",
    "panic: runtime error: index out of range [5] with length 3",
    'Traceback (most recent call last):\n  File "a.py", line 1\nZeroDivisionError: division by zero',
    "^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$",
    "docker run --rm -p 5432:5432 -e POSTGRES_PASSWORD=x postgres:18",
    "let xs = vec![1, 2, 3]; xs.iter().map(|x| x * 2).collect::<Vec<_>>()",
    '#!/bin/sh\nset -eu\necho "$@"',
    "0xDEADBEEF 0b1010 1e-9 NaN",
    "550e8400-e29b-41d4-a716-446655440000",
]


def reference_texts() -> list[str]:
    """Return the list: the written texts, then compositions of every length up to 2,000 words."""
    written = [*EDGES, *WORDS, *SENTENCES, *OTHER_SCRIPTS, *SYMBOLS, *CODE]
    return [*written, *_compositions(random.Random(20261118))]


def _compositions(chance: random.Random) -> list[str]:
    vocabulary = " ".join(SENTENCES).split()
    lengths = [2, 3, 4, 5, 7, 9, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 180, 190, 200, 210, 250, 300, 500]
    mixed = [" ".join(chance.choices(vocabulary, k=length)) for length in lengths for _ in range(3)]
    paragraphs = [" ".join(chance.sample(SENTENCES, k=count)) for count in range(2, 26)]
    scripts = ["\n".join(chance.sample([*OTHER_SCRIPTS, *SYMBOLS, *CODE], k=count)) for count in range(2, 14)]
    very_long = [" ".join(chance.choices(vocabulary, k=2000)), " ".join(chance.choices(OTHER_SCRIPTS, k=400))]
    return [*mixed, *paragraphs, *scripts, *very_long]
