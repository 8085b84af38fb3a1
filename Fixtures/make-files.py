#!/usr/bin/python3
"""Make the files that the small account is made of: python3 Fixtures/make-files.py OUT

Many kinds, names and sizes, drawn and written by this script alone, the same bytes on every run:
nothing here depends on the time, on chance or on a font. (The JPEG and PNG bytes are those of
Pillow 9.4 with Debian 12's libjpeg-turbo and zlib; another version may draw the same pictures in other bytes.)
"""
import csv
import hashlib
import io
import math
import pathlib
import struct
import sys
import wave

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps


def noise(name, length):
    """Bytes that look random and are always the same for the same name."""
    return hashlib.shake_128(name.encode()).digest(length)


# Pictures


def grain(name, size, cell=1, strength=24):
    """Film grain: noise around mid-grey, to be added to a picture."""
    small = (max(1, size[0] // cell), max(1, size[1] // cell))
    picture = Image.frombytes("L", small, noise(name, small[0] * small[1])).resize(size, Image.Resampling.BILINEAR)
    return picture.point([128 + (value - 128) * strength // 128 for value in range(256)])


def with_grain(name, picture, cell=1, strength=24):
    texture = grain(name, picture.size, cell, strength)
    return ImageChops.add(picture, Image.merge("RGB", (texture,) * 3), scale=1, offset=-128)


def sky(size, top, bottom):
    return ImageOps.colorize(Image.linear_gradient("L").resize(size), top, bottom)


def ridge(draw, size, base, height, waves, colour):
    """A range of hills: the sum of a few sines, filled to the lower edge."""
    points = [(0, size[1])]
    for x in range(0, size[0] + 8, 8):
        y = base - sum(height / n * math.sin(x / size[0] * math.tau * n * f + p) for n, f, p in waves)
        points.append((x, round(y)))
    draw.polygon(points + [(size[0], size[1])], fill=colour)


def disc(picture, centre, radius, colour, glow=0):
    layer = Image.new("L", picture.size)
    box = [centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius]
    ImageDraw.Draw(layer).ellipse(box, fill=255)
    if glow:
        layer = ImageChops.lighter(layer, layer.filter(ImageFilter.GaussianBlur(glow)))
    picture.paste(Image.new("RGB", picture.size, colour), mask=layer)


def sunset():
    size = (1280, 960)
    picture = sky(size, "#2b3a67", "#f9a03f")
    disc(picture, (860, 520), 90, "#fff1c1", glow=60)
    draw = ImageDraw.Draw(picture)
    for depth, colour in enumerate(("#7d5a7a", "#533f63", "#2c2344", "#15122b")):
        ridge(draw, size, 560 + 110 * depth, 70, [(1, 1, depth), (2, 1.5, 2 * depth), (5, 1.7, depth + 1)], colour)
    return with_grain("sunset", picture, cell=2, strength=14)


def city():
    size = (1280, 853)
    picture = sky(size, "#05070f", "#28335c")
    draw = ImageDraw.Draw(picture)
    dice = noise("city", 4096)
    x = 0
    for block in range(40):
        width, height = 24 + dice[block] % 48, 140 + dice[64 + block] * 2
        draw.rectangle([x, size[1] - height, x + width, size[1]], fill=(12 + dice[block] % 20,) * 3)
        for window in range(60):
            place = dice[(block * 97 + window * 7) % 4096]
            wx, wy = x + 4 + place % max(1, width - 8), size[1] - height + 6 + (place * 13 + window * 11) % (height - 12)
            if place % 3:
                draw.rectangle([wx, wy, wx + 3, wy + 4], fill=("#ffd97a", "#ffb347", "#cfe8ff")[place % 3])
        x += width + 2
    disc(picture, (1010, 170), 46, "#f4f1de", glow=20)
    return with_grain("city", picture, strength=8)


def sea():
    size = (1200, 800)
    picture = sky(size, "#8ecae6", "#f1faee")
    draw = ImageDraw.Draw(picture)
    for y in range(420, 800, 4):
        shade = (y - 420) / 380
        colour = (round(20 + 40 * (1 - shade)), round(90 + 90 * (1 - shade)), round(130 + 80 * (1 - shade)))
        points = [(x, y + 3 * math.sin(x / (30 + 60 * shade) + y)) for x in range(0, 1216, 16)]
        draw.polygon(points + [(1200, 800), (0, 800)], fill=colour)
    for boat in range(3):
        bx, by = 220 + boat * 330, 440 + boat * 70
        draw.polygon([(bx, by), (bx + 70, by), (bx + 55, by + 18), (bx + 12, by + 18)], fill="#6d3b1f")
        draw.polygon([(bx + 34, by - 60), (bx + 34, by - 4), (bx + 74, by - 4)], fill="#fefae0")
    return with_grain("sea", picture, cell=3, strength=20)


def mountain():
    size = (960, 1280)
    picture = sky(size, "#5fa8d3", "#cae9ff")
    draw = ImageDraw.Draw(picture)
    draw.polygon([(-100, 1000), (330, 330), (520, 560), (640, 420), (1100, 1000), (960, 1100), (0, 1100)], fill="#596475")
    draw.polygon([(330, 330), (250, 455), (320, 430), (350, 480), (420, 440)], fill="white")
    draw.polygon([(640, 420), (585, 490), (640, 480), (690, 505), (705, 500)], fill="white")
    ridge(draw, size, 960, 40, [(1, 2, 0), (3, 2, 1)], "#3a5a40")
    ridge(draw, size, 1080, 30, [(1, 3, 2), (2, 5, 1)], "#344e41")
    return with_grain("mountain", picture, strength=18)


def cafe():
    size = (1024, 768)
    picture = sky(size, "#e9d8a6", "#bb7a4c")
    draw = ImageDraw.Draw(picture)
    for column in range(9):
        draw.rectangle([column * 118, 0, column * 118 + 58, 210], fill=("#9b2226", "#fefae0")[column % 2])
    disc(picture, (512, 520), 230, "#fdfcf7")
    disc(picture, (512, 520), 180, "#eee6d8")
    disc(picture, (512, 520), 140, "#4a2c17")
    for ring in range(12):
        radius = 120 - ring * 9
        draw = ImageDraw.Draw(picture)
        draw.arc([512 - radius, 520 - radius, 512 + radius, 520 + radius], ring * 40, ring * 40 + 210, fill="#d9b08c", width=4)
    return with_grain("cafe", picture, cell=2, strength=16)


def kites():
    size = (1100, 1100)
    picture = sky(size, "#48cae4", "#ade8f4")
    draw = ImageDraw.Draw(picture)
    dice = noise("kites", 64)
    for kite in range(14):
        kx, ky, half = 80 + dice[kite] * 4 % 900, 80 + dice[kite + 20] * 4 % 700, 24 + dice[kite + 40] % 40
        colour = ("#e63946", "#ffb703", "#8338ec", "#2a9d8f")[kite % 4]
        draw.line([(kx, ky + half), (550, 1100)], fill="#1d3557")
        draw.polygon([(kx, ky - half), (kx + half, ky), (kx, ky + half), (kx - half, ky)], fill=colour)
    return with_grain("kites", picture, cell=4, strength=22)


def shapes():
    picture = Image.new("RGB", (640, 480), "#fffdf5")
    draw = ImageDraw.Draw(picture)
    for step in range(12):
        draw.ellipse([20 + step * 24, 20 + step * 16, 340 + step * 24, 340 + step * 8], outline=f"#{40 + step * 15:02x}50a0", width=5)
        draw.rectangle([600 - step * 30, 440 - step * 30, 620 - step * 20, 460 - step * 20], fill=f"#c0{step * 20:02x}40")
    return picture


def bar_chart():
    picture = Image.new("RGB", (800, 500), "white")
    draw = ImageDraw.Draw(picture)
    draw.line([(60, 20), (60, 450), (780, 450)], fill="black", width=2)
    for bar, value in enumerate((120, 180, 90, 260, 310, 220, 150, 340, 280, 200)):
        draw.rectangle([80 + bar * 68, 450 - value, 120 + bar * 68, 449], fill=("#457b9d", "#e63946")[value > 250])
    return picture


def icon():
    picture = Image.new("RGBA", (32, 32), (0, 0, 0, 0))
    ImageDraw.Draw(picture).ellipse([2, 2, 29, 29], fill="#2a9d8f")
    return picture


def jpeg(picture, quality=82):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return out.getvalue()


def png(picture):
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


# Documents


def pdf():
    """One page with a few lines, written by hand with a cross-reference table that is right."""
    lines = ["Three days in Lisbon", "", "Friday: arrive 14:05, tram 28, dinner in Alfama", "Saturday: Belem, the river, the tower",
             "Sunday: market in the morning, train to Sintra"]
    text = "BT /F1 18 Tf 72 760 Td 26 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def voice_memo():
    """Two seconds at 8 kHz: a falling melody with a fading echo."""
    rate, samples = 8000, []
    for n in range(2 * rate):
        note = (523, 440, 392, 330)[n * 2 // rate]
        fade = 1 - (n % (rate // 2)) / (rate // 2)
        samples.append(round(9000 * fade * math.sin(math.tau * note * n / rate)))
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return out.getvalue()


def budget():
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["date", "what", "euro"])
    for day, what, euro in ((1, "tram, 24 h", "6.60"), (1, "dinner", "31.40"), (2, "\"the tower\"", "8.00"), (3, "train", "4.60")):
        table.writerow([f"2026-11-{day:02d}", what, euro])
    return out.getvalue().encode()


NOTE = """# Lisbon

Tram 28 before nine, or after seven. Dürüm near Praça do Comércio.
하루에 세 곳이면 충분하다. 🚋
"""
PLAN = """여행 계획

첫째 날: 도착, 전차 28번, 알파마에서 저녁
둘째 날: 벨렝, 강가, 탑
셋째 날: 아침 시장, 신트라행 기차
"""

FILES = {
    "documents/Lisbon plan.pdf": pdf,
    "documents/budget.csv": budget,
    "documents/notes.md": lambda: NOTE.encode(),
    "documents/여행 계획.txt": lambda: PLAN.encode(),
    "memos/voice memo.wav": voice_memo,
    "photos/IMG_0001.jpg": lambda: jpeg(sunset()),
    "photos/IMG_0002.jpg": lambda: jpeg(city()),
    "photos/IMG_0003.jpg": lambda: jpeg(kites(), 75),
    # A combining accent: five letters, six scalars. It must come back as these bytes.
    "photos/Cafe\u0301 at noon.jpg": lambda: jpeg(cafe()),
    "photos/바닷가.jpg": lambda: jpeg(sea()),
    "photos/🏔️ mountain 👩‍👩‍👧.jpg": lambda: jpeg(mountain()),
    "pictures/shapes.png": lambda: png(shapes()),
    "pictures/지출.png": lambda: png(bar_chart()),
    "pictures/icon.png": lambda: png(icon()),
    # Sizes around one chunk of 64 KiB, and one of many.
    "sizes/0.bin": lambda: b"",
    "sizes/1.bin": lambda: b"x",
    "sizes/65535.bin": lambda: noise("65535", 65535),
    "sizes/65536.bin": lambda: noise("65536", 65536),
    "sizes/65537.bin": lambda: noise("65537", 65537),
    "sizes/5 MiB.bin": lambda: noise("5 MiB", 5 << 20),
}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make-files.py OUT")
    out = pathlib.Path(sys.argv[1])
    for name, make in FILES.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make())


main()
